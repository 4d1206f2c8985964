// Suppresses ThreadSanitizer's reports about curl 7.88, which closes a socket
// before it removes the socket from epoll. By then, another thread's new
// descriptor may have the same number. The kernel does not remove the other
// thread's descriptor: epoll knows a socket by its number and its open file.
extern "C" const char* TsanSuppressions() __asm__(
    "__tsan_default_suppressions");

extern "C" const char* TsanSuppressions() {
  return "race:forebay::storage::http::CurlMulti::Watch\n";
}
