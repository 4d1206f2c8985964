#ifndef FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_
#define FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_

// Suppresses ThreadSanitizer's reports about Debian's gRPC and Abseil. These
// were built without ThreadSanitizer, which thus cannot see their
// synchronisation. The list names no functions of ours. It applies to every
// program that links it. A program that such a test starts needs the list in a
// file that TSAN_OPTIONS names.
extern "C" const char* TsanSuppressions() __asm__(
    "__tsan_default_suppressions");

#endif  // FOREBAY_TESTS_UNIT_SERVER_ADMIN_TSAN_SUPPRESSIONS_H_
