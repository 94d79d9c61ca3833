"""GPU and CPU at this moment, for get_current_metrics(). Series over time come from strobe's monitors."""
import os
import sys
import time

_MB = 1024.0 * 1024.0


class Moment:
    """CPU use is between two readings, so it remembers the last one."""

    def __init__(self):
        self._last = self._cpu_ticks()

    @staticmethod
    def _cpu_ticks():
        try:
            with open("/proc/stat") as stat:
                ticks = [int(n) for n in stat.readline().split()[1:9]]
            return sum(ticks), ticks[3] + ticks[4]
        except (OSError, ValueError, IndexError):
            return None

    def cpu(self):
        now, before, self._last = self._cpu_ticks(), self._last, None
        self._last = now
        result = {"cpu_count": os.cpu_count()}
        if now and before and now[0] > before[0]:
            result["cpu_percent"] = 100.0 * (1.0 - (now[1] - before[1]) / (now[0] - before[0]))
        memory = self._memory()
        if memory:
            total, available = memory
            result.update(memory_total_mb=total / _MB, memory_available_mb=available / _MB,
                          memory_used_mb=(total - available) / _MB, memory_percent=100.0 * (total - available) / total)
        if hasattr(os, "getloadavg"):
            result["load_average"] = list(os.getloadavg())
        return result

    @staticmethod
    def _memory():
        values = {}
        try:
            with open("/proc/meminfo") as info:
                for line in info:
                    key, _, rest = line.partition(":")
                    values[key] = int(rest.split()[0]) * 1024
            return values["MemTotal"], values["MemAvailable"]
        except (OSError, ValueError, KeyError, IndexError):
            return None

    @staticmethod
    def gpu():
        """None where no GPU is in use: an absent GPU is not an idle one."""
        torch = sys.modules.get("torch")
        try:
            if torch is None or not torch.cuda.is_initialized():
                return None
            index = torch.cuda.current_device()
            free, total = torch.cuda.mem_get_info(index)
            return {"device": index, "name": torch.cuda.get_device_name(index), "memory_used_mb": (total - free) / _MB,
                    "memory_total_mb": total / _MB, "memory_free_mb": free / _MB,
                    "memory_percent": 100.0 * (total - free) / total,
                    "allocated_mb": torch.cuda.memory_allocated(index) / _MB,
                    "reserved_mb": torch.cuda.memory_reserved(index) / _MB}
        except Exception:
            return None

    def read(self):
        result = {"timestamp": time.time(), "cpu": self.cpu()}
        gpu = self.gpu()
        if gpu:
            result["gpu"] = gpu
        return result
