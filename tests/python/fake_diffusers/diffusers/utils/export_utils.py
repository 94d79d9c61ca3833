def export_to_video(frames, path):
    return path
