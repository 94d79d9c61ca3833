# A session around the entry point, stages around methods.
from inferix.profiling.decorators import profile_method, profile_session


class Generator:
    @profile_method("load_weights")
    def prepare(self):
        work()

    @profile_session("text_to_video", {"mode": "t2v"})
    def generate(self, prompts):
        self.prepare()
        return len(prompts)


profiler.end_session()
made = Generator().generate(["a cat"])
profiler.start_session("rest")
