#ifndef FOREBAY_CUDA_KERNELS_TAIL_KERNEL_H_
#define FOREBAY_CUDA_KERNELS_TAIL_KERNEL_H_

#include <cstdint>

#ifdef __CUDACC__
#define FOREBAY_KERNEL __host__ __device__
#else
#define FOREBAY_KERNEL
#endif

namespace forebay::cuda::kernels {

// Name of the kernel in the fat binary.
inline constexpr char kTailName[] = "forebay_tail";
inline constexpr std::uint32_t kTailColors = 3;
// Number of values of a uint8.
inline constexpr std::uint32_t kTailValues = 256;
// Number of threads in a block.
inline constexpr std::uint32_t kTailThreads = 256;

// The kernel's one argument, passed by value: a launch may pass 4 KiB.
struct TailArguments {
  // Pixels as (images, pixels, colors), aligned to 4 bytes.
  const std::uint8_t* pixels;
  // Output, aligned to 16 bytes.
  void* elements;
  std::uint64_t images;
  // Pixels of an image: height * width.
  std::uint64_t image_pixels;
  // Bytes of an element: 1, 2 or 4.
  std::uint32_t element_bytes;
  // 1 if elements are (images, colors, pixels); 0 if they are (images, pixels,
  // colors), as the pixels are.
  std::uint32_t planar;
  // Colors of a pixel, 3 or 1.
  std::uint32_t colors;
  // Always 0.
  std::uint32_t reserved;
  // table[color * kTailValues + value] is the element that the value becomes,
  // in the low bits.
  std::uint32_t table[kTailColors * kTailValues];
};
static_assert(sizeof(TailArguments) == 3120);

// Four elements, which a thread writes at once.
template <typename Element>
struct alignas(4 * sizeof(Element)) TailQuad {
  Element elements[4];
};

// Converts four pixels of three colors: 12 bytes become three quads.
template <typename Element>
FOREBAY_KERNEL inline void TailFourPixels(const TailArguments& arguments,
                                          const std::uint32_t* table,
                                          std::uint64_t image,
                                          std::uint64_t pixel) {
  const std::uint64_t size = arguments.image_pixels;
  const std::uint64_t first = kTailColors * (image * size + pixel);
  const auto* const words =
      reinterpret_cast<const std::uint32_t*>(arguments.pixels + first);
  const std::uint32_t bytes[3] = {words[0], words[1], words[2]};
  Element values[12];
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t value = bytes[i / 4] >> (8 * (i % 4)) & 0xFF;
    values[i] = static_cast<Element>(table[i % 3 * kTailValues + value]);
  }
  auto* const elements = static_cast<Element*>(arguments.elements);
  for (std::uint32_t quad = 0; quad < 3; ++quad) {
    TailQuad<Element> out;
    for (std::uint32_t i = 0; i < 4; ++i)
      out.elements[i] = values[arguments.planar ? 3 * i + quad : 4 * quad + i];
    const std::uint64_t at = arguments.planar
                                 ? (kTailColors * image + quad) * size + pixel
                                 : first + 4 * quad;
    *reinterpret_cast<TailQuad<Element>*>(elements + at) = out;
  }
}

// Converts one pixel. Used if the number of an image's pixels is not a multiple
// of four.
template <typename Element>
FOREBAY_KERNEL inline void TailOnePixel(const TailArguments& arguments,
                                        const std::uint32_t* table,
                                        std::uint64_t image,
                                        std::uint64_t pixel) {
  const std::uint64_t size = arguments.image_pixels;
  const std::uint64_t first = kTailColors * (image * size + pixel);
  auto* const elements = static_cast<Element*>(arguments.elements);
  for (std::uint32_t color = 0; color < kTailColors; ++color) {
    const std::uint64_t at = arguments.planar
                                 ? (kTailColors * image + color) * size + pixel
                                 : first + color;
    elements[at] = static_cast<Element>(
        table[color * kTailValues + arguments.pixels[first + color]]);
  }
}

// Converts images of one color, for which both layouts are the same.
template <typename Element>
FOREBAY_KERNEL inline void TailOfGray(const TailArguments& arguments,
                                      const std::uint32_t* table,
                                      std::uint64_t thread,
                                      std::uint64_t threads) {
  const std::uint64_t count = arguments.images * arguments.image_pixels;
  auto* const elements = static_cast<Element*>(arguments.elements);
  for (std::uint64_t at = 4 * thread; at < count; at += 4 * threads) {
    if (count - at < 4) {
      for (std::uint64_t i = at; i < count; ++i)
        elements[i] = static_cast<Element>(table[arguments.pixels[i]]);
      continue;
    }
    const std::uint32_t bytes =
        *reinterpret_cast<const std::uint32_t*>(arguments.pixels + at);
    TailQuad<Element> out;
    for (std::uint32_t i = 0; i < 4; ++i)
      out.elements[i] = static_cast<Element>(table[bytes >> (8 * i) & 0xFF]);
    *reinterpret_cast<TailQuad<Element>*>(elements + at) = out;
  }
}

// Converts the pixels of one thread. Neighbouring threads have neighbouring
// pixels, so that their memory accesses coalesce.
template <typename Element>
FOREBAY_KERNEL inline void TailOf(const TailArguments& arguments,
                                  const std::uint32_t* table,
                                  std::uint64_t thread, std::uint64_t threads) {
  if (arguments.colors == 1) {
    TailOfGray<Element>(arguments, table, thread, threads);
    return;
  }
  const std::uint64_t step = arguments.image_pixels % 4 == 0 ? 4 : 1;
  const std::uint64_t groups = arguments.image_pixels / step;
  for (std::uint64_t at = thread; at < arguments.images * groups;
       at += threads) {
    const std::uint64_t image = at / groups;
    const std::uint64_t pixel = at % groups * step;
    if (step == 4) {
      TailFourPixels<Element>(arguments, table, image, pixel);
    } else {
      TailOnePixel<Element>(arguments, table, image, pixel);
    }
  }
}

// Does the work of thread number `thread` of `threads`: normalises, casts and
// lays out uint8 images. `table` is arguments.table or a faster copy of it. The
// CPU uses the same table, so it makes the same bytes.
FOREBAY_KERNEL inline void Tail(const TailArguments& arguments,
                                const std::uint32_t* table,
                                std::uint64_t thread, std::uint64_t threads) {
  if (arguments.element_bytes == 1) {
    TailOf<std::uint8_t>(arguments, table, thread, threads);
  } else if (arguments.element_bytes == 2) {
    TailOf<std::uint16_t>(arguments, table, thread, threads);
  } else {
    TailOf<std::uint32_t>(arguments, table, thread, threads);
  }
}

}  // namespace forebay::cuda::kernels

#endif  // FOREBAY_CUDA_KERNELS_TAIL_KERNEL_H_
