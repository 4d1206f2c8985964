// A fetch has four steps. First, all samples are read. Second, the samples are
// measured, to learn how large a window they need. Third, the window is made.
// Fourth, each sample is written to its place in the window, by a task of the
// executor if the sample has to be decoded. The window's header is written
// last. The caller's thread waits for the reads and for the tasks.
//
// Reads and tasks share ownership of the fetch's Work and of the window. A
// stopped fetch may therefore return at once, while some of its reads and tasks
// still write. Samples that need a larger workspace go to LargeSamples.
#include "server/fetch/sample_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/shm_fetch.h"
#include "server/base/clock.h"
#include "server/base/duplicate.h"
#include "server/base/status.h"
#include "server/fetch/countdown.h"
#include "server/sample/annotate_error.h"

namespace forebay::fetch {
namespace {

// The fewest and the most bytes of a window.
constexpr std::uint64_t kMinWindow = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << 32;

// Returns `offset`, rounded up to a multiple of kFetchAlignment.
constexpr std::uint64_t Aligned(std::uint64_t offset) {
  return (offset + proto::kFetchAlignment - 1) / proto::kFetchAlignment *
         proto::kFetchAlignment;
}

absl::Status Stopped() {
  return absl::CancelledError("the samples were not read to the end");
}

}  // namespace

// The state of one fetch. The fetch's threads share it. One thread at a time
// works on each sample.
struct SampleReader::Work {
  // A sample of the fetch.
  struct Piece {
    std::uint64_t id = 0;
    base::Bytes bytes;    // the bytes of the sample's extent
    absl::Status status;  // the sample's first error
    // An item for each field; empty if the sample failed.
    std::vector<Content> contents;
    dataset::ValueBuffers buffers = {};  // values that the contents point to
  };

  std::shared_ptr<const ReaderSpec> spec;
  // Counts the bytes read, and the values made of them.
  base::MemoryReservation reservation;
  std::vector<Piece> pieces;
  std::shared_ptr<slots::SharedMemory> window;

  // Frees the samples' bytes and the memory reserved for them.
  void GiveBack() {
    for (Piece& piece : pieces) {
      piece.bytes = {};
      piece.buffers = {};
    }
    reservation.Release();
  }
  // Writes a sample to its place. Returns false if the sample needs a larger
  // workspace.
  bool MakePiece(Piece* piece, pipeline::Workspace& workspace) const {
    for (std::size_t i = 0; i < piece->contents.size(); ++i) {
      const Content& content = piece->contents[i];
      const absl::Status status = MakeContent(
          *spec, piece->id, i, content, workspace,
          {window->data() + content.field.offset, content.field.bytes});
      if (absl::IsResourceExhausted(status) && workspace.WantsLarger())
        return false;
      if (piece->status.ok()) piece->status = status;
    }
    return true;
  }
};

SampleReader::SampleReader(ReaderSpec spec, FetchDeps deps, schedule::Flow flow)
    : spec_(std::make_shared<const ReaderSpec>(std::move(spec))),
      deps_(std::move(deps)),
      flow_(flow),
      identity_(spec_->dataset.get()),
      large_(std::make_shared<sample::LargeSamples>(deps_.executor,
                                                    deps_.shared_workspace)),
      measuring_(deps_.workspaces->front()->limits()) {}

absl::StatusOr<Fetched> SampleReader::Fetch(
    absl::Span<const std::uint64_t> samples, const std::stop_token& stop) {
  const auto work = std::make_shared<Work>();
  FOREBAY_RETURN_IF_ERROR(Begin(samples, work.get()));
  FOREBAY_RETURN_IF_ERROR(Read(work, stop));
  Fetched fetched;
  FOREBAY_RETURN_IF_ERROR(MakeWindow(LayOut(work.get()), &fetched));
  work->window = window_;
  if (const absl::Status status = Make(work, stop); !status.ok()) {
    // The client does not know the new window, and tasks of this fetch may
    // still write into it. The next fetch therefore makes another window.
    window_ = nullptr;
    return status;
  }
  // A task that is done may own the Work for a moment longer. The memory of the
  // Work is therefore freed here.
  work->GiveBack();
  for (std::uint32_t i = 0; i < work->pieces.size(); ++i) {
    const absl::Status& status = work->pieces[i].status;
    if (status.ok()) continue;
    if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) {
      deps_.on_changed(*spec_->dataset);
    }
    fetched.failed.push_back({i, status});
  }
  return fetched;
}

absl::Status SampleReader::Begin(absl::Span<const std::uint64_t> samples,
                                 Work* work) const {
  if (samples.empty() || samples.size() > proto::kMaxFetch) {
    return absl::InvalidArgumentError(
        absl::StrCat("1 to ", proto::kMaxFetch,
                     " samples are fetched at once, "
                     "not ",
                     samples.size()));
  }
  const dataset::Dataset& dataset = *spec_->dataset;
  std::uint64_t held = 0;
  for (const std::uint64_t id : samples) {
    if (id >= dataset.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", id, " of ", dataset.uri(), ", which has ",
                       dataset.size()));
    }
    work->pieces.push_back(
        {.id = id, .bytes = {}, .status = {}, .contents = {}});
    held += storage::HeldBytes(dataset.At(id).length);
  }
  work->spec = spec_;
  auto reservation = deps_.budget->Reserve(
      held, absl::StrCat("fetching ", samples.size(), " samples at once"));
  if (!reservation.ok()) {
    if (samples.size() > 1 || held <= deps_.budget->limit())
      return reservation.status();
    // The sample alone needs more than all memory. This is an error of the
    // sample, since other samples can be fetched.
    return sample::AnnotateSampleError(
        dataset, samples[0],
        base::Annotate(absl::DataLossError(reservation.status().message()),
                       dataset.At(samples[0]).object));
  }
  work->reservation = *std::move(reservation);
  return absl::OkStatus();
}

absl::Status SampleReader::Read(const std::shared_ptr<Work>& work,
                                const std::stop_token& stop) const {
  const auto countdown = std::make_shared<Countdown>(work->pieces.size());
  std::vector<storage::ReadRequest> requests;
  requests.reserve(work->pieces.size());
  for (Work::Piece& piece : work->pieces) {
    storage::ReadRequest& request =
        requests.emplace_back(identity_.RequestFor(piece.id));
    request.purpose.job = flow_;
    request.done = [work, countdown,
                    p = &piece](absl::StatusOr<storage::ReadResult> result) {
      if (result.ok()) {
        p->bytes = std::move(result->bytes);
      } else {
        p->status = sample::AnnotateSampleError(*work->spec->dataset, p->id,
                                                result.status());
      }
      countdown->Done();
    };
  }
  deps_.source->Read(absl::MakeSpan(requests));
  const std::stop_callback on_stop(stop, [&] { countdown->Cancel(); });
  return countdown->Await() ? absl::OkStatus() : Stopped();
}

// Measuring decodes no image, so the caller's thread measures all samples.
std::uint64_t SampleReader::LayOut(Work* work) {
  const std::size_t fields = spec_->dataset->fields().size();
  std::uint64_t end =
      Aligned(proto::FetchedFieldOffset(work->pieces.size(), 0, fields));
  for (Work::Piece& piece : work->pieces) {
    if (!piece.status.ok()) continue;
    std::uint64_t counted = 0;
    const auto room =
        [&](std::uint64_t bytes) -> absl::StatusOr<absl::Span<std::uint8_t>> {
      FOREBAY_RETURN_IF_ERROR(deps_.budget->Extend(&work->reservation, bytes,
                                                   "decompressing a sample"));
      counted += bytes;
      return piece.buffers.Add(bytes);
    };
    const dataset::DecompressionRoom decompress = room;
    piece.buffers = dataset::ValueBuffers(&decompress);
    auto contents = MeasureSample(*spec_, piece.id, piece.bytes.span(),
                                  piece.buffers, room, measuring_);
    if (contents.ok()) {
      // The values that are made take at most a few times as much memory as the
      // bytes read. They are therefore counted only after they are made.
      const absl::Status kept = deps_.budget->Extend(
          &work->reservation, piece.buffers.bytes() - counted,
          "values made of samples");
      if (!kept.ok()) contents = kept;
    }
    if (!contents.ok()) {
      piece.buffers = {};
      piece.status = contents.status();
      continue;
    }
    piece.contents = *std::move(contents);
    for (Content& content : piece.contents) {
      content.field.offset = end;
      end = Aligned(end + content.field.bytes);
    }
  }
  return end;
}

absl::Status SampleReader::MakeWindow(std::uint64_t bytes, Fetched* fetched) {
  if (window_ != nullptr && window_->bytes() >= bytes) return absl::OkStatus();
  if (bytes > kMaxWindow) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the samples have ", bytes, " bytes together, more than ",
                     kMaxWindow, ": fetch fewer at once"));
  }
  // The window gets half as many bytes again, so that slightly larger samples
  // fit, too.
  const std::uint64_t wanted = std::max(bytes + bytes / 2, kMinWindow);
  // The old window is released first, so that the budget need not have room for
  // both.
  window_ = nullptr;
  reservation_.Release();
  FOREBAY_ASSIGN_OR_RETURN(
      reservation_,
      deps_.budget->Reserve(wanted, "a window for fetched samples"));
  FOREBAY_ASSIGN_OR_RETURN(
      slots::SharedMemory memory,
      slots::SharedMemory::Create("forebay-window", wanted,
                                  slots::ClientAccess::kRead));
  FOREBAY_ASSIGN_OR_RETURN(fetched->window, base::Duplicate(memory.fd()));
  fetched->window_bytes = memory.bytes();
  window_ = std::make_shared<slots::SharedMemory>(std::move(memory));
  return absl::OkStatus();
}

absl::Status SampleReader::Make(const std::shared_ptr<Work>& work,
                                const std::stop_token& stop) {
  std::vector<Work::Piece*> decoded;
  for (Work::Piece& piece : work->pieces) {
    const bool is_decoded =
        std::any_of(piece.contents.begin(), piece.contents.end(),
                    [this](const Content& c) { return IsDecoded(*spec_, c); });
    if (is_decoded) {
      decoded.push_back(&piece);
    } else {
      work->MakePiece(&piece, measuring_);
    }
  }
  const auto countdown = std::make_shared<Countdown>(decoded.size());
  for (Work::Piece* const piece : decoded) {
    // Makes the sample. Returns false if the sample needs a larger workspace,
    // or the fetch was stopped.
    const auto make = [work, countdown, piece,
                       rate = rate_](pipeline::Workspace& workspace) {
      const std::int64_t began = base::Clock::ThreadCpu()->NowNanos();
      if (countdown->cancelled() || !work->MakePiece(piece, workspace))
        return false;
      rate->Measured(piece->bytes.size(),
                     base::Clock::ThreadCpu()->NowNanos() - began);
      countdown->Done();
      return true;
    };
    const executor::Demand demand = {
        .cpu_nanos = rate_->NanosFor(piece->bytes.size()), .urgency = 0};
    deps_.executor->Submit(
        flow_, demand,
        [make, countdown, demand, flow = flow_, large = large_,
         all = deps_.workspaces](int place) {
          if (!make(*(*all)[static_cast<std::size_t>(place)]) &&
              !countdown->cancelled())
            large->Add({flow}, {nullptr, demand, make});
        });
  }
  const std::stop_callback on_stop(stop, [&] { countdown->Cancel(); });
  if (!countdown->Await()) return Stopped();

  const std::size_t fields = spec_->dataset->fields().size();
  // The header and the fields' descriptions are written after all samples are
  // done: only then is it known which samples failed.
  std::uint8_t* const window = work->window->data();
  const proto::FetchHeader header = {
      .magic = proto::kFetchMagic,
      .version = proto::kLayoutVersion,
      .sample_count = static_cast<std::uint32_t>(work->pieces.size()),
      .field_count = static_cast<std::uint32_t>(fields)};
  std::memcpy(window, &header, sizeof(header));
  for (std::size_t i = 0; i < work->pieces.size(); ++i) {
    const Work::Piece& piece = work->pieces[i];
    for (std::size_t field = 0; field < fields; ++field) {
      const proto::FetchedField described = piece.status.ok()
                                                ? piece.contents[field].field
                                                : proto::FetchedField{};
      std::memcpy(window + proto::FetchedFieldOffset(i, field, fields),
                  &described, sizeof(described));
    }
  }
  return absl::OkStatus();
}

}  // namespace forebay::fetch
