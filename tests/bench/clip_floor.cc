// The floor under every audio pipeline: bare libsndfile, or bare libmpg123 with
// the daemon's decoder. Decodes windows of the same files from memory on the
// same number of threads. If asked to, also transforms the decoded windows by
// bare kissfft. Prints one JSON object.

#include <kissfft/kiss_fftr.h>
#include <mpg123.h>
#include <sndfile.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace {

[[noreturn]] void Fail(const std::string& path) {
  std::fprintf(stderr, "clip_floor: cannot decode %s\n", path.c_str());
  std::exit(1);
}

struct File {
  std::string path;
  std::string bytes;
};

// A file in memory and a position in it, as the libraries' callbacks read it.
struct Place {
  const std::string* bytes = nullptr;
  std::int64_t at = 0;

  std::int64_t Read(void* out, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(bytes->size());
    const std::int64_t got = std::min(count, size - at);
    std::memcpy(out, bytes->data() + at, static_cast<std::size_t>(got));
    at += got;
    return got;
  }
  std::int64_t Seek(std::int64_t offset, int whence) {
    const auto size = static_cast<std::int64_t>(bytes->size());
    const std::int64_t from = whence == SEEK_CUR   ? at
                              : whence == SEEK_END ? size
                                                   : 0;
    at = std::clamp<std::int64_t>(from + offset, 0, size);
    return at;
  }
};

Place* AsPlace(void* place) { return static_cast<Place*>(place); }

// Decodes a window of `frames` frames. `part`, from 0 to 1, is the window's
// place between the clip's first and last window.
void DecodeBySndfile(const File& file, std::int64_t frames, double part,
                     std::vector<float>& out) {
  Place place{.bytes = &file.bytes};
  SF_VIRTUAL_IO io = {
      [](void* p) {
        return static_cast<sf_count_t>(AsPlace(p)->bytes->size());
      },
      [](sf_count_t offset, int whence, void* p) -> sf_count_t {
        return AsPlace(p)->Seek(offset, whence);
      },
      [](void* out, sf_count_t count, void* p) -> sf_count_t {
        return AsPlace(p)->Read(out, count);
      },
      [](const void*, sf_count_t, void*) -> sf_count_t { return 0; },
      [](void* p) -> sf_count_t { return AsPlace(p)->at; }};
  SF_INFO info = {};
  SNDFILE* const opened = sf_open_virtual(&io, SFM_READ, &info, &place);
  if (opened == nullptr || info.frames < frames) Fail(file.path);
  const auto begin =
      static_cast<sf_count_t>(part * static_cast<double>(info.frames - frames));
  out.resize(static_cast<std::size_t>(frames * info.channels));
  if (sf_seek(opened, begin, SEEK_SET) != begin ||
      sf_readf_float(opened, out.data(), frames) != frames) {
    Fail(file.path);
  }
  sf_close(opened);
}

void DecodeByMpg123(const File& file, std::int64_t frames, double part,
                    std::vector<float>& out) {
  Place place{.bytes = &file.bytes};
  mpg123_handle* const handle = mpg123_new("generic", nullptr);
  mpg123_param(handle, MPG123_ADD_FLAGS, MPG123_FORCE_FLOAT | MPG123_QUIET, 0);
  mpg123_replace_reader_handle(
      handle,
      [](void* p, void* out, std::size_t count) {
        return static_cast<ssize_t>(
            AsPlace(p)->Read(out, static_cast<std::int64_t>(count)));
      },
      [](void* p, off_t offset, int whence) {
        return static_cast<off_t>(AsPlace(p)->Seek(offset, whence));
      },
      nullptr);
  long rate = 0;  // NOLINT(google-runtime-int): mpg123's
  int channels = 0;
  int encoding = 0;
  if (mpg123_open_handle(handle, &place) != MPG123_OK ||
      mpg123_getformat(handle, &rate, &channels, &encoding) != MPG123_OK) {
    Fail(file.path);
  }
  const auto begin = static_cast<off_t>(
      part * static_cast<double>(mpg123_length(handle) - frames));
  out.resize(static_cast<std::size_t>(frames * channels));
  std::size_t got = 0;
  if (mpg123_seek(handle, begin, SEEK_SET) != begin ||
      mpg123_read(handle, reinterpret_cast<unsigned char*>(out.data()),
                  out.size() * sizeof(float), &got) != MPG123_OK) {
    Fail(file.path);
  }
  mpg123_delete(handle);
}

// Transforms a stereo clip piece by piece, as spectrograms do. Pieces begin
// `hop` frames apart, and each is as long as the transform.
class Spectra {
 public:
  Spectra(int size, std::int64_t hop)
      : size_(static_cast<std::size_t>(size)),
        hop_(static_cast<std::size_t>(hop)),
        plan_(size == 0 ? nullptr : kiss_fftr_alloc(size, 0, nullptr, nullptr)),
        in_(size_),
        out_(size_ / 2 + 1) {
    for (std::size_t i = 0; i < size_; ++i) {
      const double turn = 2 * M_PI * static_cast<double>(i) / size;
      hann_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(turn)));
    }
  }
  ~Spectra() { kiss_fftr_free(plan_); }
  Spectra(const Spectra&) = delete;
  Spectra& operator=(const Spectra&) = delete;

  void Run(const std::vector<float>& clip) {
    if (plan_ == nullptr) return;
    for (std::size_t at = 0; 2 * (at + size_) <= clip.size(); at += hop_) {
      for (const std::size_t channel : {0, 1}) {
        for (std::size_t i = 0; i < size_; ++i)
          in_[i] = clip[2 * (at + i) + channel] * hann_[i];
        kiss_fftr(plan_, in_.data(), out_.data());
      }
    }
  }

 private:
  const std::size_t size_;
  const std::size_t hop_;
  const kiss_fftr_cfg plan_;
  std::vector<float> hann_;
  std::vector<float> in_;
  std::vector<kiss_fft_cpx> out_;
};

struct Task {
  std::int64_t frames = 0;  // frames of a window
  int fft = 0;              // frames of a transform; 0: none
  std::int64_t hop = 0;
};

// Returns the windows per second of a pass over `windows` windows.
double Pass(const std::vector<File>& files, const Task& task,
            std::size_t windows, int threads) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::vector<float> out;
    Spectra spectra(task.fft, task.hop);
    for (std::size_t i; (i = next.fetch_add(1)) < windows;) {
      std::minstd_rand draws(static_cast<unsigned>(i + 1));
      draws.discard(8);
      const double part = std::uniform_real_distribution<>(0, 1)(draws);
      const File& file = files[i % files.size()];
      const bool is_mp3 = file.path.ends_with(".mp3");
      (is_mp3 ? DecodeByMpg123 : DecodeBySndfile)(file, task.frames, part, out);
      spectra.Run(out);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  return static_cast<double>(windows) / took.count();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Decodes windows of audio files with bare libraries.");
  std::vector<std::string> paths;
  Task task;
  std::size_t windows = 0;
  int threads = 1;
  app.add_option("files", paths, "Files that are long enough")->required();
  app.add_option("--frames", task.frames, "Frames of a window")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--windows", windows, "How many are decoded")->required();
  app.add_option("--fft", task.fft,
                 "Frames of a Fourier transform, of clips in stereo, an even "
                 "number (default: none)");
  app.add_option("--hop", task.hop, "Frames from one to the next")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "Threads, at least 1 (default 1)")
      ->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);

  mpg123_init();
  std::vector<File> files;
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    files.push_back(
        {path, std::string(std::istreambuf_iterator<char>(in), {})});
  }
  Pass(files, task, files.size(), threads);  // warms caches and clocks
  std::printf("{\"windows_per_s\": %.2f}\n",
              Pass(files, task, windows, threads));
  return 0;
}
