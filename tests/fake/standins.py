"""The stand-ins for the CUDA driver and CUPTI from Python: the tables of fake_cuda.h and fake_cupti.h, as far as
Python tests need them."""
import ctypes
import os

P, U32, U64, I, S = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p
F, B = ctypes.c_double, ctypes.c_bool
CUDA = [("reset", None), ("calls", U64, S), ("advance", None, U64), ("work", None, P, U64), ("capture", None, P, I),
        ("make_current", None, P, I), ("destroy", None, P), ("fail_record", None, I), ("limit_events", None, U32), ("on_record", None, P),
        ("record_takes", None, U64), ("fail_capturing", None, I), ("memory", None, U64, U64),
        ("make_own", None, P, I)]
CUPTI = [("reset", None), ("calls", U64, S), ("set_version", None, U32), ("refuse", None, S, I), ("now", U64), ("launch", U32),
         ("kernel", None, U32, U64, U64, S), ("copy", None, U32, U64, U64, B, B, B, U64), ("memset", None, U32, U64, U64, U64),
         ("enabled", B, I), ("subscribed", B), ("held", U32), ("hold_empty", None), ("take_over", None), ("unzeroed", U32),
         ("refused_records", U64), ("shape", None, I, I), ("sized", None, I, I, U32), ("synchronize", None, U32, U32, P, P),
         ("begin", None, U32, S), ("finish", None), ("on", None, S, P), ("drop", None, U32), ("driver_call", None, U32, P, I)]

PM = [("reset", None), ("sample", None, I, U64, U64, F, F, F, F), ("overflow", None, I), ("occupy", None, I, B), ("pass_limit", None, U32),
      ("know", None, S, B), ("time_trigger", None, B), ("sampling", B, I), ("held", U32), ("mistakes", U32), ("started", U64, I), ("trouble", None, I, U32)]


def table(path, function, fields):
    """The struct of function pointers that a stand-in hands to tests."""
    kind = type("Table", (ctypes.Structure,), {"_fields_": [(name, ctypes.CFUNCTYPE(*types)) for name, *types in fields]})
    give = getattr(ctypes.CDLL(path), function)
    give.restype = ctypes.POINTER(kind)
    return give().contents


def load_cuda():
    """The driver that STROBE_CUDA_PATH names; its context 0x1000 is current on device 0."""
    cuda = table(os.environ["STROBE_CUDA_PATH"], "fake_cuda", CUDA)
    cuda.reset()
    cuda.make_current(0x1000, 0)
    return cuda


def load_cupti():
    cupti = table(os.environ["STROBE_CUPTI_PATH"], "fake_cupti", CUPTI)
    cupti.reset()
    return cupti


def load():
    """Both, CUPTI first: once a context is current, strobe's watch may open CUPTI at any moment, and a reset would
    take back what it set up."""
    cupti = load_cupti()
    return load_cuda(), cupti


def load_pm():
    """The part of load_cupti() that samples counters."""
    pm = table(os.environ["STROBE_CUPTI_PATH"], "fake_pm", PM)
    pm.reset()
    return pm
