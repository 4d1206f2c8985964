// Suppresses ThreadSanitizer's reports about the sockets that curl 7.88 lets be
// watched no longer only after their end. Another thread's new descriptor may
// have the number then. The kernel removes nothing of the other thread's: an
// epoll descriptor knows a socket by its number and its open file.
extern "C" const char* TsanSuppressions() __asm__(
    "__tsan_default_suppressions");

extern "C" const char* TsanSuppressions() {
  return "race:forebay::storage::http::CurlMulti::Watch\n";
}
