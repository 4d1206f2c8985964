// Reads the same objects over and over on several connections, as fast as
// libcurl alone can. Prints the rate and the CPU time.

#include <curl/curl.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Totals {
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t failures = 0;
};

std::size_t Count(char*, std::size_t size, std::size_t count, void* totals) {
  static_cast<Totals*>(totals)->bytes += size * count;
  return size * count;
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Load {
 public:
  Load(std::string base, std::string query, int objects, int connections)
      : base_(std::move(base)),
        query_(std::move(query)),
        objects_(objects),
        multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                      static_cast<long>(connections));
    for (int i = 0; i < connections; ++i) {
      CURL* const easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Count);
      curl_easy_setopt(easy, CURLOPT_WRITEDATA, &totals_);
      curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
      curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
      curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
      easies_.push_back(easy);
      Ask(easy);
    }
  }
  ~Load() {
    for (CURL* const easy : easies_) {
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
    }
    curl_multi_cleanup(multi_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void RunUntil(Clock::time_point end) {
    while (Clock::now() < end) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* const message =
                 curl_multi_info_read(multi_, &left)) {
        CURL* const easy = message->easy_handle;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        ++(status == 200 && message->data.result == CURLE_OK
               ? totals_.requests
               : totals_.failures);
        curl_multi_remove_handle(multi_, easy);
        Ask(easy);
      }
      curl_multi_poll(multi_, nullptr, 0, 100, nullptr);
    }
  }

  const Totals& totals() const { return totals_; }

 private:
  void Ask(CURL* easy) {
    const std::string url = base_ + std::to_string(next_++ % objects_) + query_;
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_multi_add_handle(multi_, easy);
  }

  const std::string base_;
  const std::string query_;
  const int objects_;
  CURLM* const multi_;
  std::vector<CURL*> easies_;
  Totals totals_;
  int next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads objects BASE0, BASE1, ... by libcurl alone.");
  std::string base;
  std::string query = "?alt=media";
  int objects = 1;
  int connections = 32;
  double warm = 0.5;
  double seconds = 2;
  app.add_option("base", base, "What the objects' URLs begin with")->required();
  app.add_option("--query", query, "What they end with");
  app.add_option("--objects", objects, "How many there are");
  app.add_option("--connections", connections, "How many at once");
  app.add_option("--warm", warm, "Seconds before it is measured");
  app.add_option("--seconds", seconds, "Seconds that are measured");
  CLI11_PARSE(app, argc, argv);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  Load load(base, query, objects, connections);
  const auto span = [](double length) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(length));
  };
  load.RunUntil(Clock::now() + span(warm));
  const Totals before = load.totals();
  const double cpu = CpuSeconds();
  const Clock::time_point begin = Clock::now();
  load.RunUntil(begin + span(seconds));
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::printf(
      "{\"bytes\": %llu, \"requests\": %llu, \"failures\": %llu, "
      "\"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
      static_cast<unsigned long long>(load.totals().bytes - before.bytes),
      static_cast<unsigned long long>(load.totals().requests - before.requests),
      static_cast<unsigned long long>(load.totals().failures), took.count(),
      CpuSeconds() - cpu);
  return 0;
}
