#include "client/wire/session_codec.h"

#include <algorithm>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include "client/wire/class_list_codec.h"
#include "client/wire/request.h"
#include "client/wire/wire_types.h"
#include "proto/shm_layout.h"
#include "proto/version.h"

namespace forebay::client::wire {
namespace {

using Tag = protozero::pbf_tag_type;

// Field numbers of the messages in proto/session.proto.
enum class HelloTag : Tag {
  kProtocolVersion = 1,
  kClientVersion = 2,
  kJob = 3,
};
enum class JobTag : Tag { kKey = 1, kName = 2, kWeight = 3 };
enum class OpenLoaderTag : Tag { kSpec = 1, kSpecInMemfd = 2 };
enum class OpenReaderTag : Tag { kSpec = 1, kSpecInMemfd = 2, kDecode = 3 };
enum class FetchTag : Tag { kReaderId = 1, kSamples = 2 };
enum class StartEpochTag : Tag {
  kLoaderId = 1,
  kEpoch = 2,
  kFirstSample = 3,
  kListed = 4,
};
enum class LoaderIdTag : Tag { kLoaderId = 1 };
enum class StartWorkersTag : Tag {
  kLoaderId = 1,
  kWorkers = 2,
  kPersistent = 3
};
enum class GetSlotsTag : Tag { kLoaderId = 1, kFirst = 2 };

enum class AnswerTag : Tag {
  kRequestId = 1,
  kError = 2,
  kWelcome = 3,
  kLoaderOpened = 4,
  kEpochStarted = 5,
  kEpochStopped = 6,
  kLoaderClosed = 7,
  kStats = 8,
  kSlots = 9,
  kReaderOpened = 11,
  kFetched = 12,
  kWorkersStarted = 15,
  kObjectRead = 17,
  kOrderDrawn = 19,
};

using Reader = protozero::pbf_reader;

std::string LoaderRequest(RequestTag tag, std::uint64_t request_id,
                          std::uint64_t loader_id) {
  return Request<LoaderIdTag>(tag, request_id, [&](auto& body) {
    body.add_uint64(LoaderIdTag::kLoaderId, loader_id);
  });
}

// Writes a spec, or says that the spec travels in a memfd, if it is empty.
template <typename BodyTag>
void AddSpec(protozero::pbf_builder<BodyTag>& body, std::string_view spec) {
  if (spec.empty())
    body.add_bool(BodyTag::kSpecInMemfd, true);
  else
    body.add_message(BodyTag::kSpec, spec.data(), spec.size());
}

ErrorAnswer ReadError(Reader reader) {
  ErrorAnswer error;
  while (reader.next()) {
    if (IsVarint(reader, 1))
      error.code = reader.get_uint32();
    else if (IsBytes(reader, 2))
      error.message = reader.get_string();
    else
      reader.skip();
  }
  return error;
}

Welcome ReadWelcome(Reader reader) {
  Welcome welcome;
  while (reader.next()) {
    if (IsVarint(reader, 1))
      welcome.protocol_version = reader.get_uint32();
    else if (IsBytes(reader, 2))
      welcome.daemon_version = reader.get_string();
    else if (IsVarint(reader, 3))
      welcome.session_id = reader.get_uint64();
    else
      reader.skip();
  }
  return welcome;
}

// Copies at most 16 bytes: the daemon's field may have any length.
void CopyVersion(protozero::data_view from, std::array<std::uint8_t, 16>* to) {
  std::copy_n(from.data(), std::min(from.size(), to->size()), to->begin());
}

LoaderOpened ReadLoaderOpened(Reader reader) {
  LoaderOpened opened;
  while (reader.next()) {
    if (IsVarint(reader, 1)) {
      opened.loader_id = reader.get_uint64();
    } else if (IsVarint(reader, 2)) {
      opened.dataset_size = reader.get_uint64();
    } else if (IsVarint(reader, 3)) {
      opened.samples_per_epoch = reader.get_uint64();
    } else if (IsVarint(reader, 4)) {
      opened.batches_per_epoch = reader.get_uint64();
    } else if (IsBytes(reader, 5)) {
      CopyVersion(reader.get_view(), &opened.dataset_version);
    } else if (IsBytes(reader, 6)) {
      opened.classes = ReadClassList(reader.get_message());
    } else if (IsVarint(reader, 7)) {
      // get_bool would read a byte that the message may not have.
      opened.classes_in_memfd = reader.get_uint64() != 0;
    } else if (IsVarint(reader, 8)) {
      opened.slot_bytes = reader.get_uint64();
    } else if (IsBytes(reader, 9)) {
      opened.has_placement = true;
      opened.placement = ReadPlacement(reader.get_message());
    } else {
      reader.skip();
    }
  }
  return opened;
}

ReaderOpened ReadReaderOpened(Reader reader) {
  ReaderOpened opened;
  while (reader.next()) {
    if (IsVarint(reader, 1))
      opened.reader_id = reader.get_uint64();
    else if (IsVarint(reader, 2))
      opened.dataset_size = reader.get_uint64();
    else if (IsBytes(reader, 3))
      CopyVersion(reader.get_view(), &opened.dataset_version);
    else if (IsBytes(reader, 4))
      opened.classes = ReadClassList(reader.get_message());
    else if (IsVarint(reader, 5))
      opened.classes_in_memfd = reader.get_uint64() != 0;
    else if (IsBytes(reader, 6))
      opened.fields.push_back(reader.get_string());
    else if (IsBytes(reader, 7))
      opened.warnings.push_back(reader.get_string());
    else
      reader.skip();
  }
  return opened;
}

// Reads the error of a proto.FailedSample. Field 1, the sample's index in the
// request, is skipped: the window shows which samples are absent.
ErrorAnswer ReadFailedSample(Reader reader) {
  ErrorAnswer error;
  while (reader.next()) {
    if (IsBytes(reader, 2))
      error = ReadError(reader.get_message());
    else
      reader.skip();
  }
  return error;
}

Fetched ReadFetched(Reader reader) {
  Fetched fetched;
  while (reader.next()) {
    if (IsVarint(reader, 1)) {
      fetched.window_bytes = reader.get_uint64();
    } else if (IsBytes(reader, 2) && !fetched.has_failure) {
      fetched.has_failure = true;
      fetched.failure = ReadFailedSample(reader.get_message());
    } else {
      reader.skip();
    }
  }
  return fetched;
}

// Reads a message whose fields, from number 1 on, are varints: field number i
// goes to fields[i - 1]. Other fields are skipped.
void ReadVarints(Reader reader, const std::vector<std::uint64_t*>& fields) {
  while (reader.next()) {
    const Tag tag = reader.tag();
    if (tag <= fields.size() && IsVarint(reader, tag))
      *fields[tag - 1] = reader.get_uint64();
    else
      reader.skip();
  }
}

EpochStarted ReadEpochStarted(Reader reader) {
  EpochStarted started;
  ReadVarints(reader,
              {&started.slot_count, &started.slot_bytes, &started.lease_quota});
  return started;
}

std::uint64_t ReadPublished(Reader reader) {
  std::uint64_t published = 0;
  ReadVarints(reader, {&published});
  return published;
}

Stats ReadStats(Reader reader) {
  Stats stats;
  ReadVarints(reader, {&stats.samples_delivered, &stats.batches_delivered,
                       &stats.bytes_delivered, &stats.bytes_read,
                       &stats.samples_decoded, &stats.samples_substituted,
                       &stats.cpu_nanos});
  return stats;
}

// Reads the answer itself, whose kind its field number tells.
void ReadKind(Reader& reader, Answer* answer) {
  switch (static_cast<AnswerTag>(reader.tag())) {
    case AnswerTag::kError:
      answer->kind = ReadError(reader.get_message());
      break;
    case AnswerTag::kWelcome:
      answer->kind = ReadWelcome(reader.get_message());
      break;
    case AnswerTag::kLoaderOpened:
      answer->kind = ReadLoaderOpened(reader.get_message());
      break;
    case AnswerTag::kEpochStarted:
      answer->kind = ReadEpochStarted(reader.get_message());
      break;
    case AnswerTag::kEpochStopped:
      answer->kind = EpochStopped{ReadPublished(reader.get_message())};
      break;
    case AnswerTag::kLoaderClosed:
      answer->kind = LoaderClosed{ReadPublished(reader.get_message())};
      break;
    case AnswerTag::kStats:
      answer->kind = ReadStats(reader.get_message());
      break;
    case AnswerTag::kSlots:
      reader.skip();
      answer->kind = Slots();
      break;
    case AnswerTag::kWorkersStarted:
      reader.skip();
      answer->kind = WorkersStarted();
      break;
    case AnswerTag::kReaderOpened:
      answer->kind = ReadReaderOpened(reader.get_message());
      break;
    case AnswerTag::kFetched:
      answer->kind = ReadFetched(reader.get_message());
      break;
    case AnswerTag::kObjectRead:
      answer->kind = ReadObjectRead(reader.get_message());
      break;
    case AnswerTag::kOrderDrawn:
      answer->kind = ReadOrderDrawn(reader.get_message());
      break;
    default:
      reader.skip();
  }
}

}  // namespace

std::string EncodeHello(std::uint64_t request_id, std::string_view job_key,
                        std::string_view job_name, double weight) {
  return Request<HelloTag>(RequestTag::kHello, request_id, [&](auto& hello) {
    hello.add_uint32(HelloTag::kProtocolVersion, proto::kProtocolVersion);
    hello.add_string(HelloTag::kClientVersion, proto::kVersion);
    protozero::pbf_builder<JobTag> job(hello, HelloTag::kJob);
    job.add_string(JobTag::kKey, job_key.data(), job_key.size());
    job.add_string(JobTag::kName, job_name.data(), job_name.size());
    job.add_double(JobTag::kWeight, weight);
  });
}

std::string EncodeOpenLoader(std::uint64_t request_id, std::string_view spec) {
  return Request<OpenLoaderTag>(RequestTag::kOpenLoader, request_id,
                                [&](auto& body) { AddSpec(body, spec); });
}

std::string EncodeOpenReader(std::uint64_t request_id, std::string_view spec,
                             bool decode) {
  return Request<OpenReaderTag>(RequestTag::kOpenReader, request_id,
                                [&](auto& body) {
                                  AddSpec(body, spec);
                                  body.add_bool(OpenReaderTag::kDecode, decode);
                                });
}

std::string EncodeFetch(std::uint64_t request_id, std::uint64_t reader_id,
                        const std::int64_t* samples, size_t count) {
  const auto* const numbers = reinterpret_cast<const std::uint64_t*>(samples);
  return Request<FetchTag>(RequestTag::kFetch, request_id, [&](auto& body) {
    body.add_uint64(FetchTag::kReaderId, reader_id);
    body.add_packed_uint64(FetchTag::kSamples, numbers, numbers + count);
  });
}

std::string EncodeReadObject(std::uint64_t request_id, std::string_view range) {
  return WithBody(RequestTag::kReadObject, request_id, range);
}

std::string EncodeStartEpoch(std::uint64_t request_id, std::uint64_t loader_id,
                             std::uint64_t epoch, std::uint64_t first_sample,
                             bool listed) {
  return Request<StartEpochTag>(
      RequestTag::kStartEpoch, request_id, [&](auto& body) {
        body.add_uint64(StartEpochTag::kLoaderId, loader_id);
        body.add_uint64(StartEpochTag::kEpoch, epoch);
        body.add_uint64(StartEpochTag::kFirstSample, first_sample);
        body.add_bool(StartEpochTag::kListed, listed);
      });
}

std::string EncodeStopEpoch(std::uint64_t request_id, std::uint64_t loader_id) {
  return LoaderRequest(RequestTag::kStopEpoch, request_id, loader_id);
}

std::string EncodeCloseLoader(std::uint64_t request_id,
                              std::uint64_t loader_id) {
  return LoaderRequest(RequestTag::kCloseLoader, request_id, loader_id);
}

std::string EncodeGetSlots(std::uint64_t request_id, std::uint64_t loader_id,
                           std::uint32_t first) {
  return Request<GetSlotsTag>(
      RequestTag::kGetSlots, request_id, [&](auto& body) {
        body.add_uint64(GetSlotsTag::kLoaderId, loader_id);
        body.add_uint32(GetSlotsTag::kFirst, first);
      });
}

std::string EncodeGetStats(std::uint64_t request_id, std::uint64_t loader_id) {
  return LoaderRequest(RequestTag::kGetStats, request_id, loader_id);
}

std::string EncodeStartWorkers(std::uint64_t request_id,
                               std::uint64_t loader_id, std::uint32_t workers,
                               bool are_persistent) {
  return Request<StartWorkersTag>(
      RequestTag::kStartWorkers, request_id, [&](auto& body) {
        body.add_uint64(StartWorkersTag::kLoaderId, loader_id);
        body.add_uint32(StartWorkersTag::kWorkers, workers);
        if (are_persistent) body.add_bool(StartWorkersTag::kPersistent, true);
      });
}

std::string EncodeDrawOrder(std::uint64_t request_id, std::string_view part) {
  return WithBody(RequestTag::kDrawOrder, request_id, part);
}

Status DecodeAnswer(std::string_view bytes, Answer* answer) {
  try {
    Reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      if (IsVarint(reader, static_cast<Tag>(AnswerTag::kRequestId)))
        answer->request_id = reader.get_uint64();
      else if (reader.wire_type() == protozero::pbf_wire_type::length_delimited)
        ReadKind(reader, answer);
      else
        reader.skip();
    }
  } catch (const protozero::exception&) {
    return Status(FOREBAY_INTERNAL, "the daemon sent a malformed message");
  }
  return Status();
}

}  // namespace forebay::client::wire
