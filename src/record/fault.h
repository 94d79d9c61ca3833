/* Survives a recording that another process truncates: stores past its new end raise SIGBUS.
 * For addresses of strobe's own mapping the handler puts private memory there and counts; all
 * other faults go to the handler that was there before. */
#ifndef SB_RECORD_FAULT_H
#define SB_RECORD_FAULT_H

void sb_fault_catch(void); /* takes the signal */
void sb_fault_release(void); /* gives the signal back, unless the program has taken it since */
void sb_fault_tell(void); /* counts in the open recording what went to private memory and is lost */

#endif
