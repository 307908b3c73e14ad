#include "engine/codec_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace continuo::engine {
namespace {

/// Pieces that each complete frames and are decoded in shares, as the engine does it.
struct Pieces {
  struct Piece {
    int backlog = 0, waited = 0;
    bool heard = false;
  };
  std::map<JobId, Piece> all;
  int most_frames = 0, most_waited = 0;

  /// made: frames that each completes in this turn.
  std::vector<JobId> turn(int made, int share = shared_frames) {
    std::vector<CodecDue> due;
    for (auto& [id, piece] : all) {
      piece.backlog += made;
      if (piece.backlog >= share) due.push_back({id, share, piece.backlog, !piece.heard, INFINITY, piece.waited});
    }
    const auto go = codec_turn(due, static_cast<int>(all.size()));
    for (const CodecDue& each : due) ++all[each.id].waited;
    for (const JobId id : go) {
      most_waited = std::max(most_waited, all[id].waited - 1);
      all[id] = {all[id].backlog - share, 0, true};
    }
    most_frames = std::max(most_frames, share * static_cast<int>(go.size()));
    EXPECT_EQ(go.empty(), due.empty());
    return go;
  }
};

TEST(CodecTurns, StreamsInLockstepAreSpreadOverTurns) {
  for (const int count : {1, 2, 5, 8, 13, 16, 32}) {
    Pieces pieces;
    for (int id = 1; id <= count; ++id) pieces.all[static_cast<JobId>(id)];
    int most_backlog = 0;
    for (int turn = 0; turn < 2000; ++turn) {
      pieces.turn(1);
      for (const auto& [id, piece] : pieces.all) most_backlog = std::max(most_backlog, piece.backlog);
    }
    EXPECT_LT(pieces.most_frames, std::max(shared_frames, count) + shared_frames) << count;
    EXPECT_LE(most_backlog, 2 * shared_frames) << count;  // they keep up
    EXPECT_LE(pieces.most_waited, shared_frames) << count;
  }
}

TEST(CodecTurns, SmallChunksToo) {
  Pieces pieces;
  for (JobId id = 1; id <= 12; ++id) pieces.all[id];
  for (int turn = 0; turn < 2000; ++turn) pieces.turn(1, 5);
  EXPECT_LT(pieces.most_frames, 12 + 5);
  for (const auto& [id, piece] : pieces.all) EXPECT_LE(piece.backlog, 16) << id;
}

TEST(CodecTurns, AudioPromptsAreCaughtUpWith) {
  Pieces pieces;
  for (JobId id = 1; id <= 6; ++id) pieces.all[id];
  for (int turn = 0; turn < 100; ++turn) pieces.turn(8);  // prompts of 16 s
  for (int turn = 0; turn < 3000; ++turn) pieces.turn(1);
  for (const auto& [id, piece] : pieces.all) EXPECT_LE(piece.backlog, 6 * 16) << id;
  EXPECT_LE(pieces.most_frames, 6 * 800 / 16 + shared_frames);
}

TEST(CodecTurns, TheNearlyDryThenFirstSoundsThenWhoWaited) {
  const double never = INFINITY;
  const std::vector<CodecDue> due{{1, 8, 8, false, never, 3}, {2, 8, 8, false, never, 7}, {3, 8, 8, true, never, 0},
                                  {4, 8, 8, false, 0.2, 0},   {5, 8, 8, false, 0.1, 0},   {6, 8, 8, false, 30.0, 5}};
  EXPECT_EQ(codec_turn(due, 6), (std::vector<JobId>{5}));
  EXPECT_EQ(codec_turn(due, 48), (std::vector<JobId>{5, 4, 3, 2, 6, 1}));
  EXPECT_EQ(codec_turn(due, 24), (std::vector<JobId>{5, 4, 3}));
  EXPECT_TRUE(codec_turn({}, 3).empty());
  // One alone may be of any size; a small one does not slip past a large one.
  EXPECT_EQ(codec_turn(std::vector<CodecDue>{{1, 100, 100}}, 1), (std::vector<JobId>{1}));
  EXPECT_EQ(
      codec_turn(std::vector<CodecDue>{{1, 6, 6, false, never, 9}, {2, 8, 8, false, never, 5}, {3, 1, 1, false, never, 0}}, 3),
      (std::vector<JobId>{1, 2}));
}

}  // namespace
}  // namespace continuo::engine
