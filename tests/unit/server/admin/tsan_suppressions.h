#ifndef FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_
#define FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_

// What ThreadSanitizer reports of Debian's gRPC and Abseil, which were built
// without it: it cannot see their synchronisation. Nothing of ours is named.
// In force in every program that this is linked into; programs that such a test
// runs want it in a file that TSAN_OPTIONS names.
extern "C" const char* TsanSuppressions() __asm__(
    "__tsan_default_suppressions");

#endif  // FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_
