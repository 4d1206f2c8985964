#ifndef FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_

namespace forebay::storage::local {

// Decides whether a read asks the page cache: while the cache holds some of the
// bytes that are read, and now and then besides, since that may change. Asking
// for other bytes is not free: the kernel then reads them into the cache.
//
// Pure; not thread-safe. No errors.
class PageCacheHitRate {
 public:
  // Returns whether the next read asks the cache; if so, call Saw with the
  // result.
  bool Ask() {
    if (held_ >= kWorthwhile) return true;
    skipped_ = (skipped_ + 1) % kSkips;
    return skipped_ == 0;
  }
  void Saw(bool held) { held_ += ((held ? 1 : 0) - held_) / kMemory; }

 private:
  static constexpr double kWorthwhile = 1.0 / 8;
  static constexpr double kMemory = 16;  // reads
  static constexpr int kSkips = 64;      // reads from one trial to the next

  double held_ = 1;  // the share, of late
  int skipped_ = 0;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_
