#ifndef FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_
#define FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_

#include <protozero/pbf_reader.hpp>

namespace forebay::client::wire {

// Whether the current field of a message has that number and is a varint, as
// scalars are.
inline bool IsVarint(const protozero::pbf_reader& reader,
                     protozero::pbf_tag_type tag) {
  return reader.tag() == tag &&
         reader.wire_type() == protozero::pbf_wire_type::varint;
}

// Whether it is a string, bytes or a message.
inline bool IsBytes(const protozero::pbf_reader& reader,
                    protozero::pbf_tag_type tag) {
  return reader.tag() == tag &&
         reader.wire_type() == protozero::pbf_wire_type::length_delimited;
}

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_WIRE_TYPES_H_
