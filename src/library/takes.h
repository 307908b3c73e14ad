// The takes that were made: what they are, how they were made, what their owner thinks of them, and where their sound lies.
//
// - A take's sound is a file in the data folder, under a name that is made here (sound_path); no name comes from outside.
// - Deleting is putting into the trash: a take there is left out of every search but that for the trash, keeps its sound, and can
// be
//   put back. It goes for good when somebody says so (remove, empty_trash, library/retention.h), never by itself.
// - Going for good: the row goes first and the file is noted as an orphan in the same transaction, then the file is removed.
//   Whatever ends the process in between, no take is without its sound, and the file is removed at the next start.
// - Orders are by date, and a cursor continues where a page ended, whatever was added or deleted meanwhile.
// Thread-safe; every function may wait for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "library/database.h"

namespace continuo::library {

struct Take {
  std::string id;      // cannot be guessed; letters, digits, '-' and '_'
  std::string job;     // id of the job that made it
  int number = 1;      // among the job's takes
  std::string prompt;  // may be empty
  std::string title;   // what its owner calls it
  std::string model;   // id
  std::uint64_t seed = 0;
  double seconds = 0.0;
  std::string settings = "{}";  // JSON: a music request that makes it again
  int sample_rate = 0;
  int channels = 1;
  std::int64_t bytes = 0;          // of its sound
  std::string sound;               // below the data folder: sound_path(id)
  double created = 0.0;            // seconds since 1970
  std::optional<int> rating;       // 0 to 5
  std::optional<double> deleted;   // in the trash since then
  std::optional<double> loudness;  // LUFS
  std::optional<double> peak;      // dBTP
};

struct TakeChange {  // absent: stays
  std::optional<std::string> title{};
  std::optional<std::optional<int>> rating{};
};

struct TakeQuery {
  std::string words{};                                // all of them, in prompt or title; empty: no matter
  std::optional<std::vector<std::string>> prompts{};  // made from one of these
  std::optional<int> least_rating{};
  bool unrated = false;
  std::string job{};     // empty: of any
  bool trash = false;    // those in the trash, and only those
  int limit = 50;        // 1 to most_takes_in_a_page
  std::string cursor{};  // `next` of the page before; empty: from the newest
};

struct TakePage {
  std::vector<Take> takes;  // the newest first
  std::string next;         // empty: that is all
};

struct TakeTotals {
  std::int64_t takes = 0;
  std::int64_t bytes = 0;  // of their sound
  std::int64_t trash_takes = 0;
  std::int64_t trash_bytes = 0;
};

/// A prompt that takes were made from, and its raw fingerprint by one text encoder, if that was remembered.
struct PastPrompt {
  std::string prompt;
  std::vector<float> fingerprint;
};

struct RemovedTake {
  std::string id;
  std::string prompt;
  std::int64_t bytes = 0;
};

inline constexpr int most_takes_in_a_page = 200;
inline constexpr std::size_t most_title_bytes = 400;

class TakeLibrary {
 public:
  /// Also removes the files of takes that went before the process ended.
  static Result<std::unique_ptr<TakeLibrary>> open(std::shared_ptr<Database> database);

  /// Where the sound of a take with this id belongs, below the data folder; absolute() says it with the folder.
  static std::string sound_path(std::string_view id);
  std::string absolute(const Take& take) const;

  /// Again for a job that ran again after a crash: what its owner has done to the take meanwhile stays. Errors: an id that
  /// another job's take has, anything that Take does not allow.
  Status add(const Take& take);
  /// Also one in the trash. Errors: not_found, as in all that take an id.
  Result<Take> get(const std::string& id) const;
  Result<Take> change(const std::string& id, const TakeChange& change);
  /// Into the trash, and out of it. What is there already stays as it is.
  Result<Take> trash(const std::string& id, double now);
  Result<Take> restore(const std::string& id);

  /// Errors: a rating, limit or cursor that cannot be, words that match_expression() refuses.
  Result<TakePage> find(const TakeQuery& query) const;
  Result<TakeTotals> totals() const;

  /// For good.
  Result<RemovedTake> remove(const std::string& id);
  /// For good, those that have been in the trash for longer than so many days; 0: all that are there.
  Result<std::vector<RemovedTake>> empty_trash(double days, double now);

  /// Kept for a prompt as long as there are takes of it; one for each encoder.
  Status remember_fingerprint(const std::string& prompt, const std::string& encoder, std::span<const float> fingerprint);
  /// The prompts of all takes outside the trash, the one used longest ago first; no more than the newest `most`.
  Result<std::vector<PastPrompt>> prompts(const std::string& encoder, std::size_t most) const;
  /// Ids of the takes of a prompt outside the trash, the newest first.
  Result<std::vector<std::string>> takes_of(const std::string& prompt, int most) const;

 private:
  explicit TakeLibrary(std::shared_ptr<Database> database) : database_(std::move(database)) {}
  std::shared_ptr<Database> database_;
};

/// Removes the files that the database has noted as orphans. Those that cannot be removed now stay noted.
Status remove_orphans(Database& database);

}  // namespace continuo::library
