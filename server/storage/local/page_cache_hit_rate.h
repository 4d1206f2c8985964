#ifndef FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_
#define FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_

namespace forebay::storage::local {

// Decides whether a read tries the page cache first. Every read tries while the
// cache holds at least the share kWorthwhile of what is read. If the cache
// holds less, only every kSkips-th read tries, since the share may grow. A vain
// try is not free: the kernel reads the bytes into the cache.
//
// Pure; not thread-safe. The user owns it. Never blocks; no errors.
class PageCacheHitRate {
 public:
  // Returns whether the next read tries the cache. If true, the caller calls
  // Saw with the result.
  bool Ask() {
    if (held_ >= kWorthwhile) return true;
    skipped_ = (skipped_ + 1) % kSkips;
    return skipped_ == 0;
  }
  // Takes note whether the cache held the bytes.
  void Saw(bool held) { held_ += ((held ? 1 : 0) - held_) / kMemory; }

 private:
  // The share of reads that the cache must hold for all reads to try it.
  static constexpr double kWorthwhile = 1.0 / 8;
  // The reads over which the share is averaged.
  static constexpr double kMemory = 16;
  // The number of reads from one try to the next, while the cache holds too
  // little.
  static constexpr int kSkips = 64;

  // The share of recent reads that the cache held.
  double held_ = 1;
  int skipped_ = 0;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_SERVER_STORAGE_LOCAL_PAGE_CACHE_HIT_RATE_H_
