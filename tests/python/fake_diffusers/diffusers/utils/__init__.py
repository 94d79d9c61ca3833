from .export_utils import export_to_video
