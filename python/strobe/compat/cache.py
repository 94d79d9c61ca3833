"""CacheEventRecorder: which cache served which frame, by chunk."""
import collections
import time

from .. import _record

KINDS = ("teacache", "first_block_cache", "similarity_cache")
KEPT = 20000


class CacheEventRecorder:
    """An event's frame is known when its chunk is finalized: it lies between the
    chunk's first and last frame as far along as the step was."""

    def __init__(self, enabled=True):
        self.enabled = enabled
        self.events = collections.deque(maxlen=KEPT)
        self._begin = time.perf_counter()
        self._chunk = None
        self._chunk_count = 0

    def start_chunk(self, start_frame, steps, label=None):
        """A chunk of frames begins; one that is still open is finalized where it began."""
        if not self.enabled:
            return
        if self._chunk is not None:
            self.finalize_chunk(self._chunk["start_frame"])
        self._chunk = {"start_frame": start_frame, "steps": max(int(steps), 1), "label": label, "step": 0,
                       "index": self._chunk_count, "events": []}
        self._chunk_count += 1

    def mark_step(self, step):
        """The step that the following events belong to."""
        if self._chunk is not None:
            self._chunk["step"] = step

    def record_event(self, cache, details="", *, step=None, hit=True, score=None, threshold=None):
        """The cache served (or, with hit=False, did not serve) the current step; outside of chunks it has no frame."""
        if not self.enabled:
            return
        if isinstance(details, dict):  # {"score": 0.9, "threshold": 0.95}
            score = _number(details, "score", "similarity") if score is None else score
            threshold = _number(details, "threshold") if threshold is None else threshold
        if self._chunk is None:
            _record.cache(str(cache), "hit" if hit else "miss", score=score, threshold=threshold)
            return
        at = self._chunk["step"] if step is None else step
        if len(self._chunk["events"]) < KEPT:
            self._chunk["events"].append({"time": time.perf_counter() - self._begin, "step": at, "cache": str(cache),
                                          "details": details, "hit": hit, "score": score, "threshold": threshold})

    def finalize_chunk(self, end_frame):
        """Returns the chunk's events, each with its frame."""
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            return []
        done = []
        for event in chunk["events"]:
            along = min(event["step"] / chunk["steps"], 1.0)
            frame = chunk["start_frame"] + (end_frame - chunk["start_frame"]) * along
            done.append(dict(event, frame=frame, chunk=chunk["index"], label=chunk["label"]))
            _record.cache(event["cache"], "hit" if event["hit"] else "miss", score=event["score"],
                          threshold=event["threshold"], frame=frame, chunk=chunk["index"])
        self.events.extend(done)
        return done

    def cancel_chunk(self):
        """The chunk came to nothing: its events are forgotten."""
        self._chunk = None

    def hit_rate(self, cache=None):
        """hits / (hits + misses); None where nothing was asked."""
        asked = [e for e in self.events if cache is None or e["cache"] == cache]
        return sum(e["hit"] for e in asked) / len(asked) if asked else None

    def to_markdown(self):
        lines = ["| Time (s) | Frame | Cache | Details |", "|---|---|---|---|"]
        for e in self.events:
            parts = [str(e["label"])] if e["label"] else []
            parts += [_details(e["details"])] if e["details"] else []
            parts += [] if e["hit"] else ["miss"]
            lines.append("| %.2f | %.1f | %s | %s |" % (e["time"], e["frame"], e["cache"],
                                                      ", ".join(parts).replace("|", "\\|")))
        return "\n".join(lines)

    def clear(self):
        self.events.clear()
        self._chunk = None
        self._chunk_count = 0
        self._begin = time.perf_counter()


def _number(details, *keys):
    for key in keys:
        if isinstance(details.get(key), (int, float)):
            return float(details[key])
    return None


def _details(details):
    if isinstance(details, dict):
        return ", ".join("%s=%s" % item for item in details.items())
    return str(details)
