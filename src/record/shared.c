/* One small object with a unique symbol: the dynamic linker binds every instance of
 * the library to the same one, also instances that were loaded RTLD_LOCAL. It holds
 * two pointers, see instances.c. Assembly, because that is where gcc and clang alike
 * have the symbol type; a file of its own, because an assembler would bind a
 * reference from the same file to the local object. */
__asm__(".pushsection .data.strobe_shared_1_,\"aw\"\n"
	".balign 16\n"
	".type strobe_shared_1_, %gnu_unique_object\n"
	".size strobe_shared_1_, 16\n"
	"strobe_shared_1_:\n"
	".zero 16\n"
	".popsection\n");
