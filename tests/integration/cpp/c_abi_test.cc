// The contract of the C interface: null pointers, sizes of structs, versions.

#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "tests/catch/catch.h"
#include "tests/catch/skip.h"
#include "tests/integration/cpp/c_program.h"
#include "tests/integration/cpp/reading.h"
#include "tests/integration/cpp/strict_program.h"

namespace cpp_user {
namespace {

// While this object lives, an environment variable has another value, or none.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() {
    before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST_CASE("A C program sees the structs of the interface as a C++ program does",
          "[cpp][c_abi]") {
  CLayout in_c;
  DescribeInC(&in_c);
  CHECK(in_c.enumeration == sizeof(forebay_status));
  CHECK(in_c.field == sizeof(forebay_field));
  CHECK(in_c.field_row_splits == offsetof(forebay_field, row_splits));
  CHECK(in_c.options == sizeof(forebay_loader_options));
  CHECK(in_c.options_device == offsetof(forebay_loader_options, device));
  CHECK(in_c.options_max_seconds ==
        offsetof(forebay_loader_options, max_seconds));
  CHECK(in_c.info == sizeof(forebay_loader_info));
  CHECK(in_c.stats == sizeof(forebay_loader_stats));
  CHECK(in_c.batch_info == sizeof(forebay_batch_info));
  CHECK(in_c.field_layout == sizeof(forebay_field_layout));
  CHECK(in_c.view == sizeof(forebay_batch_view));
  CHECK(in_c.view_fields == offsetof(forebay_batch_view, fields));
  CHECK(in_c.padding == sizeof(forebay_padding));
  CHECK(in_c.resampling == sizeof(forebay_resampling));
  CHECK(in_c.spectrogram == sizeof(forebay_spectrogram));
  CHECK(in_c.mel_spectrogram == sizeof(forebay_mel_spectrogram));
}

TEST_CASE("Programs in C99 and in strict C++17 read an epoch", "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  CHECK(ReadEpochInC(daemon.runtime_dir().c_str(), pictures.path().c_str()) ==
        static_cast<long>(kSamples));
  CHECK(ReadStrictly(daemon.runtime_dir(), pictures.path()) ==
        kSamples * 3 * 8 * 8);
}

TEST_CASE("The library tells its version", "[cpp][c_abi]") {
  CHECK_THAT(forebay_version(), Catch::Matches("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  CHECK(forebay_version() == forebay_version());
}

std::string RuntimeDir() {
  char path[4096];
  REQUIRE(forebay_runtime_dir(path, sizeof path) == FOREBAY_OK);
  return path;
}

TEST_CASE("The library looks for the daemon where the header says",
          "[cpp][c_abi]") {
  const std::string folder = NewFolder("runtime");
  {
    const Variable variable("FOREBAY_RUNTIME_DIR", "/some/where");
    CHECK(RuntimeDir() == "/some/where");
    char path[12];
    CHECK(forebay_runtime_dir(path, 12) == FOREBAY_OK);
    CHECK(path == std::string("/some/where"));
    // The path fits, but not its terminating NUL.
    for (const std::size_t size : {11, 1, 0})
      CHECK(forebay_runtime_dir(path, size) == FOREBAY_INVALID_ARGUMENT);
    CHECK(forebay_ping(nullptr) == FOREBAY_UNAVAILABLE);
    CHECK_THAT(forebay_last_error(), Catch::Contains("/some/where"));
  }
  const Variable variable("FOREBAY_RUNTIME_DIR", nullptr);
  if (access("/run/forebay/session.sock", F_OK) == 0)
    SKIP("this host has a daemon");
  {
    const Variable xdg("XDG_RUNTIME_DIR", folder.c_str());
    CHECK(RuntimeDir() == folder + "/forebay");
  }
  const std::string nowhere = folder + "/nowhere";
  const std::string own = "/tmp/forebay-" + std::to_string(geteuid());
  for (const char* const value :
       {nowhere.c_str(), "", static_cast<const char*>(nullptr)}) {
    const Variable xdg("XDG_RUNTIME_DIR", value);
    CHECK(RuntimeDir() == own);
  }
  std::filesystem::remove(folder);
}

TEST_CASE("A loader looks for its daemon where the environment says",
          "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  options.runtime_dir = nullptr;
  const Variable variable("FOREBAY_RUNTIME_DIR", daemon.runtime_dir().c_str());
  CHECK(forebay_ping(nullptr) == FOREBAY_OK);
  CHECK(OpeningOf(options).status == FOREBAY_OK);
}

TEST_CASE("A daemon's directory that another user owns is not trusted",
          "[cpp][c_abi]") {
  const std::string folder = NewFolder("untrusted");
  if (chown(folder.c_str(), 12345, 12345) != 0)
    SKIP("only root can give a folder away");
  CHECK(forebay_ping(folder.c_str()) == FOREBAY_PERMISSION_DENIED);
  CHECK_THAT(forebay_last_error(),
             Catch::Contains(folder) && Catch::Contains("12345"));
  std::filesystem::remove(folder);
}

TEST_CASE("Options begin with the defaults that the header tells",
          "[cpp][c_abi]") {
  const Variable variable("FOREBAY_REATTACH_SECONDS", nullptr);
  forebay_loader_options options;
  std::memset(&options, 0xff, sizeof options);
  forebay_loader_options_init(&options, sizeof options);
  CHECK(options.size == sizeof options);
  CHECK(options.runtime_dir == nullptr);
  CHECK(options.job_key == nullptr);
  CHECK(options.job_name == nullptr);
  CHECK(options.name == nullptr);
  CHECK(options.weight == 1);
  CHECK(options.uri == nullptr);
  CHECK(options.root == nullptr);
  CHECK(options.format == FOREBAY_IMAGE_FOLDER);
  CHECK(options.extra_root_count == 0);
  CHECK(options.order == FOREBAY_SEQUENTIAL);
  CHECK(options.seed == 0);
  CHECK(options.rank == 0);
  CHECK(options.world_size == 1);
  CHECK(options.uneven == FOREBAY_WRAP);
  CHECK(options.batch_size == 1);
  CHECK(options.drop_last == 0);
  CHECK(options.on_error == FOREBAY_RAISE);
  CHECK(options.depth == 0);
  CHECK(options.shard_count == 0);
  CHECK(options.field_count == 0);
  CHECK(options.columns == nullptr);
  CHECK(options.sharing == FOREBAY_ELASTIC);
  CHECK(options.reattach_seconds == 60);
  CHECK(options.dataset == nullptr);
  CHECK(options.device == -1);
  CHECK(options.folder == nullptr);
  CHECK(options.database == nullptr);
  CHECK(options.length_field == nullptr);
  CHECK(options.max_length == 0);
  CHECK(options.by_length == 0);
  CHECK(options.padded == 0);
  CHECK(options.max_seconds == 0);
  CHECK(forebay::DefaultOptions().size == sizeof options);
}

TEST_CASE("The environment says how long a C++ program waits for a daemon",
          "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  {
    const Variable variable("FOREBAY_REATTACH_SECONDS", "2.5");
    CHECK(forebay::DefaultOptions().reattach_seconds == 2.5);
  }
  const Variable variable("FOREBAY_REATTACH_SECONDS", "soon");
  const Failure failure = OpeningOf(OptionsFor(daemon, pictures));
  CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
  CHECK_THAT(failure.text, Catch::Contains("FOREBAY_REATTACH_SECONDS"));
}

TEST_CASE("An older program's shorter options are complete", "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  for (const std::size_t size :
       {offsetof(forebay_loader_options, sharing),
        offsetof(forebay_loader_options, dataset),
        offsetof(forebay_loader_options, device),
        offsetof(forebay_loader_options, max_seconds)}) {
    CAPTURE(size);
    forebay_loader_options options;
    std::memset(&options, 0xff, sizeof options);
    forebay_loader_options_init(&options, size);
    CHECK(options.size == size);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&options);
    CHECK(std::all_of(bytes + size, bytes + sizeof options,
                      [](unsigned char byte) { return byte == 0xff; }));
    options.runtime_dir = daemon.runtime_dir().c_str();
    options.job_key = "an older program";
    options.uri = pictures.path().c_str();
    // The library reads nothing after the struct's end.
    forebay::Loader loader(options, WholePictures());
    CHECK(loader.refusal().empty());
    CHECK(ReadEpoch(loader, 0).ids == Numbers(0, kSamples));
  }
}

TEST_CASE("A newer program's longer options begin with zeros in what is new",
          "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  struct Newer {
    forebay_loader_options known;
    std::uint64_t unknown[4];
  } options;
  std::memset(&options, 0xff, sizeof options);
  forebay_loader_options_init(&options.known, sizeof options);
  CHECK(options.known.size == sizeof options);
  for (const std::uint64_t value : options.unknown) CHECK(value == 0);
  options.known.runtime_dir = daemon.runtime_dir().c_str();
  options.known.job_key = "a newer program";
  options.known.uri = pictures.path().c_str();
  forebay::Loader loader(options.known, WholePictures());
  CHECK(ReadEpoch(loader, 0).ids == Numbers(0, kSamples));
}

TEST_CASE("A null pointer is refused by each function that needs one",
          "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader_options options = OptionsFor(daemon, pictures);
  forebay_loader* const loader = OpenInC(options);
  REQUIRE(forebay_loader_start_epoch(loader, 0, 0) == FOREBAY_OK);
  forebay_batch* batch = nullptr;
  REQUIRE(forebay_loader_next(loader, -1, &batch) == FOREBAY_OK);
  const forebay::Pipeline owned;
  forebay_pipeline* const pipeline = owned.get();
  forebay_loader* out = nullptr;
  forebay_loader_info info;
  forebay_loader_stats stats;
  forebay_batch_view view = {};
  forebay_field field;
  const char* name = nullptr;
  std::size_t length = 0;
  const double one = 1;
  const std::uint32_t axis = 0;
  const forebay_padding padding = {
      1, 1, 1, 1, nullptr, 1, FOREBAY_PAD_CONSTANT};
  const std::function<forebay_status()> all[] = {
      [&] { return forebay_runtime_dir(nullptr, 100); },
      [&] { return forebay_loader_create(nullptr, pipeline, &out); },
      [&] { return forebay_loader_create(&options, pipeline, nullptr); },
      [&] { return forebay_loader_open(nullptr, 0); },
      [&] { return forebay_loader_get_info(nullptr, &info); },
      [&] { return forebay_loader_get_info(loader, nullptr); },
      [&] { return forebay_loader_class_name(nullptr, 0, &name, &length); },
      [&] { return forebay_loader_class_name(loader, 0, nullptr, &length); },
      [&] { return forebay_loader_class_name(loader, 0, &name, nullptr); },
      [&] { return forebay_loader_get_stats(nullptr, &stats); },
      [&] { return forebay_loader_get_stats(loader, nullptr); },
      [&] { return forebay_loader_start_epoch(nullptr, 0, 0); },
      [&] {
        return forebay_loader_start_listed_epoch(loader, 0, nullptr, 1, 0);
      },
      [&] { return forebay_loader_next(nullptr, 0, &batch); },
      [&] { return forebay_loader_next(loader, 0, nullptr); },
      [&] { return forebay_loader_next_view(nullptr, 0, &view); },
      [&] { return forebay_loader_next_view(loader, 0, nullptr); },
      [&] { return forebay_loader_stop_epoch(nullptr); },
      [&] { return forebay_loader_reattach(nullptr, 0); },
      [&] { return forebay_batch_field(nullptr, 0, &field); },
      [&] { return forebay_batch_field(batch, 0, nullptr); },
      [&] { return forebay_batch_put(nullptr, 0, &field, nullptr); },
      [&] { return forebay_batch_put_part(nullptr, 0, 0, 1, &field, nullptr); },
      [&] {
        return forebay_pipeline_add_resize(nullptr, 1, 1, 0, FOREBAY_NEAREST);
      },
      [&] { return forebay_pipeline_add_center_crop(nullptr, 1, 1); },
      [&] { return forebay_pipeline_add_to_image(nullptr, FOREBAY_NCHW); },
      [&] { return forebay_pipeline_add_to_mono(nullptr); },
      [&] { return forebay_pipeline_add_pad(pipeline, nullptr); },
      [&] { return forebay_pipeline_add_pad(pipeline, &padding); },
      [&] {
        return forebay_pipeline_add_random_crop(pipeline, 1, 1, &padding, 0);
      },
      [&] {
        return forebay_pipeline_add_normalize(pipeline, nullptr, 1, &one, 1);
      },
      [&] {
        return forebay_pipeline_add_normalize(pipeline, &one, 1, nullptr, 1);
      },
      [&] { return forebay_pipeline_add_transpose(pipeline, nullptr, 1); },
      [&] { return forebay_pipeline_add_transpose(pipeline, &axis, 0); },
      [&] { return forebay_pipeline_add_array(pipeline, nullptr, pipeline); },
      [&] { return forebay_pipeline_add_array(pipeline, "image", nullptr); },
      [&] { return forebay_pipeline_add_resample(pipeline, nullptr); },
      [&] { return forebay_pipeline_add_spectrogram(pipeline, nullptr); },
      [&] { return forebay_pipeline_add_mel_spectrogram(pipeline, nullptr); },
      [&] { return forebay_pipeline_add_mfcc(pipeline, nullptr, 4, 1, 0); },
  };
  for (const auto& call : all) {
    CAPTURE(&call - all);
    CHECK(call() == FOREBAY_INVALID_ARGUMENT);
    CHECK_FALSE(std::string(forebay_last_error()).empty());
  }
  CHECK(out == nullptr);
  // These functions have an answer for null pointers.
  CHECK(forebay_loader_is_attached(nullptr) == 0);
  CHECK(forebay_loader_iteration(nullptr) == 0);
  CHECK(forebay_loader_refusal(nullptr) == std::string());
  CHECK(forebay_batch_place(nullptr, 0) == FOREBAY_HOST);
  forebay_batch_info none = {1, 1, 1, 1, 1};
  forebay_batch_get_info(nullptr, &none);
  CHECK(none.sample_count == 0);
  CHECK(none.field_count == 0);
  forebay_batch_get_info(batch, nullptr);
  forebay_loader_options_init(nullptr, 8);
  forebay_batch_retain(nullptr);
  forebay_loader_close(nullptr);
  forebay_loader_free(nullptr);
  forebay_batch_release(nullptr);
  forebay_pipeline_free(nullptr);
  forebay_batch_release(batch);
  forebay_loader_free(loader);
}

TEST_CASE("A class's name lives as long as its loader", "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  forebay_loader* const loader = OpenInC(OptionsFor(daemon, pictures));
  const char* name = nullptr;
  std::size_t length = 0;
  REQUIRE(forebay_loader_class_name(loader, 1, &name, &length) == FOREBAY_OK);
  forebay_loader_close(loader);
  CHECK(std::string(name, length) == "birch");
  forebay_loader_free(loader);
}

TEST_CASE("A failed call writes nothing to its out pointer", "[cpp][c_abi]") {
  const Daemon daemon;
  const Pictures pictures;
  const forebay_loader_options options = OptionsFor(daemon, pictures);
  char somewhere = 0;
  auto* const mark = reinterpret_cast<forebay_loader*>(&somewhere);
  forebay_loader* out = mark;
  forebay_loader_options wrong = options;
  wrong.job_key = nullptr;
  CHECK(forebay_loader_create(&wrong, nullptr, &out) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(out == mark);
  forebay_loader* const loader = OpenInC(options);
  auto* const batch_mark = reinterpret_cast<forebay_batch*>(&somewhere);
  forebay_batch* batch = batch_mark;
  CHECK(forebay_loader_next(loader, -1, &batch) == FOREBAY_END_OF_EPOCH);
  CHECK(batch == batch_mark);
  forebay_loader_free(loader);
}

}  // namespace
}  // namespace cpp_user
