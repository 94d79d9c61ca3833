"""Whether a step computed all of its model. A cache passes over whole blocks, or over the attentions in them: each
forward is compared with the one of its kind of model that ran most, so that a step with fewer forwards is not taken for a cached one."""


class Skipped:
    """blocks_run, attentions_run and parts_run count in a step; the same with asked what runs without a cache."""

    def __init__(self):
        self.most = {}  # class of a model -> most blocks, most attentions of one forward
        self.begin_counting()

    def begin_counting(self):
        self.blocks_run = self.attentions_run = self.parts_run = 0
        self.blocks_asked = self.attentions_asked = self.parts_asked = 0

    def end_forward(self, model, blocks, attentions):
        most = self.most.get(model, (0, 0))
        self.most[model] = most = max(most[0], blocks), max(most[1], attentions)
        self.blocks_asked += most[0]
        self.attentions_asked += most[1]

    def was_cached(self):
        """True: a step that skipped most of its blocks was served by a cache; the hooks of some
        caches sit in the blocks, which are called then but compute no attention, those of others
        in the attentions or blocks themselves. False: it skipped some. None: nothing."""
        all_counts = ((self.blocks_run, self.blocks_asked), (self.attentions_run, self.attentions_asked), (self.parts_run, self.parts_asked))
        mostly = [run * 2 <= asked for run, asked in all_counts if run < asked]
        return any(mostly) if mostly else None
