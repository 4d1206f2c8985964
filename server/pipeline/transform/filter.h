#ifndef FOREBAY_SERVER_PIPELINE_TRANSFORM_FILTER_H_
#define FOREBAY_SERVER_PIPELINE_TRANSFORM_FILTER_H_

namespace forebay::pipeline::transform {

// The filter of a resize. kBilinear and kBicubic are antialiased as in Pillow:
// the more the image shrinks, the more pixels the filter covers. kNearest takes
// one pixel. kBilinearAliased takes the four pixels around a point, however
// much the image shrinks.
enum class Filter { kNearest, kBilinear, kBicubic, kBilinearAliased };

}  // namespace forebay::pipeline::transform

#endif  // FOREBAY_SERVER_PIPELINE_TRANSFORM_FILTER_H_
