/* MB in samples and reports of memory are 2^20 bytes, as torch and nvidia-smi print
 * them. Files and traffic count in 10^6. */
#ifndef SB_BASE_MEMORY_UNITS_H
#define SB_BASE_MEMORY_UNITS_H

#define SB_MB 1048576.0
#define SB_GB (1024 * SB_MB)

#endif
