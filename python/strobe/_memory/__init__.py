"""What the package records of memory: what tensors, caches and modules hold, what grows, which lines allocated, and what held the
memory when it ran out. Each module is loaded by what needs it."""
import os

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # code in here is strobe's own, not the program's
