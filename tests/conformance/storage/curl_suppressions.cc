// Suppresses ThreadSanitizer's reports about sockets that curl 7.88 ends first
// and has removed from epoll afterwards. Another thread's new descriptor may
// have the number by then. The kernel removes nothing of the other thread's:
// epoll knows a socket by its number and its open file.
extern "C" const char* TsanSuppressions() __asm__(
    "__tsan_default_suppressions");

extern "C" const char* TsanSuppressions() {
  return "race:forebay::storage::http::CurlMulti::Watch\n";
}
