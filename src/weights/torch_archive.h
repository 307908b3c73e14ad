// A file that torch.save wrote (.bin, .pt, .pth): a zip archive with the structure of what was saved in <root>/data.pkl and the
// numbers of each storage in <root>/data/<key>.
//
// After open() the archive has passed StoredZip, its pickle was read as data (pickle.h), and every storage that the pickle
// refers to is there and as long as its type and count say. Files of torch before 1.6 and of big-endian machines are refused.
// Tensors are read in pieces; the checksum of a storage that is read to its end is compared. Not for use from several threads
// at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/pickle.h"
#include "weights/stored_zip.h"

namespace continuo::weights {

class TorchArchive {
 public:
  static Result<TorchArchive> open(const std::string& path);

  const std::string& path() const { return zip_.path(); }
  const Pickle& pickle() const { return pickle_; }
  const TorchStorage& storage_of(const TorchTensor& tensor) const { return pickle_.storages()[tensor.storage]; }

  using Sink = std::function<Status(std::span<const float>)>;
  /// Hands `count` values from the `first` on, in row-major order, to `sink`, in pieces of at most a few megabytes. Types
  /// other than F32, F16 and BF16 are refused. A tensor whose elements stand in another order in the file (a transposed view)
  /// is read whole before its values are handed out, and refused above 256 MiB. The range lies inside the tensor, which is
  /// one of pickle().tensors(); `name` is for messages.
  Status stream(const TorchTensor& tensor, std::string_view name, std::uint64_t first, std::uint64_t count,
                const Sink& sink) const;

 private:
  Status find_root();
  Status check_byte_order() const;
  Status read_pickle();
  Status check_storages() const;
  Result<std::vector<char>> read_small(const std::string& entry, std::uint64_t limit) const;
  Status stream_run(const TorchTensor& tensor, std::uint64_t first, std::uint64_t count, const Sink& sink) const;
  Status stream_strided(const TorchTensor& tensor, std::string_view name, std::uint64_t first, std::uint64_t count,
                        const Sink& sink) const;

  StoredZip zip_;
  std::string root_;  // "archive/"
  Pickle pickle_;
};

}  // namespace continuo::weights
