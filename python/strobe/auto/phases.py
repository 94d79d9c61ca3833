"""What a generation does around its steps and beside its other stages: zones before_steps, between_steps and after_steps,
so that this time has a place. The sampler says what runs there. Their names are known to the reports (src/base/role.c)."""
from .._native import ROLE_STEP, native, section

BEFORE, BETWEEN, AFTER = "before_steps", "between_steps", "after_steps"


class Phases:
    """Of one generation: at most one phase is open, and none inside a step or another stage. Sections of the program's own
    lie in it, and what the framework does in these lies in them."""
    phase = None       # the open one's name
    phase_zone = None  # None: none is open
    inside = None      # counts the sections that are open in it
    step_zone = None   # of the open step; None too where the settings leave steps out
    step_inside = None
    held = ()          # phases around the open one, which the program's sections keep open
    left_out = False   # the steps lie in sections of the program's own: these say what is between them

    def open_phase(self, name):
        """Takes no GPU time: in a phase the host prepares, or waits for what the steps have launched."""
        if not self.close_phase() or self.left_out or not native.role_recorded(ROLE_STEP):
            return
        self.phase, self.phase_zone = name, section(name, gpu=False)
        self.phase_zone.__enter__()
        self.inside = native.inside()

    def close_phase(self, error=None):
        """False: a section of the program's is open in it, which would end with it."""
        if self.phase_zone is None:
            return True
        if self.inside.count and error is None:
            return False
        zone, self.phase_zone = self.phase_zone, None
        self.inside.close()
        leave(zone, error)
        if self.held:
            *self.held, (self.phase, self.phase_zone, self.inside) = self.held
            return self.close_phase(error)
        return True

    def open_step(self, zone):
        zone.__enter__()
        self.step_zone, self.step_inside = zone, native.inside()

    def close_step(self, phase):
        """phase: what follows. A section of the program's that is open in the step keeps it open, in place of the phase."""
        zone, self.step_zone = self.step_zone, None
        if self.step_inside.count:
            if self.phase_zone is not None:
                self.held = [*self.held, (self.phase, self.phase_zone, self.inside)]
            self.phase, self.phase_zone, self.inside = phase, zone, self.step_inside
            return
        self.step_inside.close()
        leave(zone, None)
        self.open_phase(phase)

    def fail(self, error):
        """The call of the framework raised."""
        self.close_phase(error)
        if self.step_zone is not None:
            self.step_inside.close()
            leave(self.step_zone, error)
            self.step_zone = None


def leave(zone, error):
    """Ends a zone; error: the one that ends it, or None."""
    if error is None:
        zone.__exit__(None, None, None)
    else:
        zone.__exit__(type(error), error, error.__traceback__)


class Beside:
    """A stage in place of the open phase, which goes on after it."""
    __slots__ = ("phases", "inner", "closed")

    def __init__(self, phases, inner):
        self.phases, self.inner = phases, inner

    def __enter__(self):
        self.closed = self.phases.close_phase()
        return self.inner.__enter__()

    def __exit__(self, kind, error, trace):
        result = self.inner.__exit__(kind, error, trace)
        if self.closed and kind is None:
            self.phases.open_phase(self.phases.phase)
        return result


def beside(activity, inner):
    """The stage itself where no phase of the activity is open."""
    return inner if activity is None or activity.phase_zone is None else Beside(activity, inner)
