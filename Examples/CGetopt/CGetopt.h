// The C library's parser of long options, which Swift's Glibc module leaves out.
#include <getopt.h>
