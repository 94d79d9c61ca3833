set -x
cd "$(dirname "$0")/../.."
uname -r; nvidia-smi -L; gcc --version | head -1; cmake --version | head -1; pkg-config --list-all | egrep -i "zlib|zstd|fyaml|event|sqlite|ncurses|cmocka"
(time (cmake -S . -B /tmp/b -G Ninja && ninja -C /tmp/b)) > $OUT/build.log 2>&1; tail -5 $OUT/build.log; grep "strobe: no" $OUT/build.log
gcc -shared -fPIC -O2 -Isrc tests/gpu/bare_cupti.c -o /tmp/libbare.so -ldl
timeout 150 python3 tests/gpu/kineto_fixture.py $OUT 20 2>&1 | tail -5
timeout 300 python3 -u tests/gpu/cupti_costs.py /tmp/libbare.so 2>&1 | tee $OUT/cupti_costs.log | tail -80
