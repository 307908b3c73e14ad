// The scene table that the program brings, as a person would write it in a file.
#pragma once

namespace continuo::server {

inline constexpr const char built_in_scenes[] = R"json({
  "scenes": {
    "battle": {"words": "orchestral battle music with taiko drums, brass stabs and fast string ostinatos", "guidance_scale": [3, 4], "temperature": [0.9, 1.0]},
    "boss": {"words": "epic boss fight music with low choir, distorted bass, heavy drums and brass", "guidance_scale": [3.5, 4.5], "temperature": [0.9, 1.0]},
    "chase": {"words": "chase music with driving percussion, pulsing synth bass and short staccato strings", "guidance_scale": [3, 4], "temperature": [0.9, 1.0]},
    "city": {"words": "downtempo city night music with electric piano, muted trumpet and soft drums", "guidance_scale": [3, 3.5], "temperature": [1.0, 1.0]},
    "dungeon": {"words": "dungeon ambience with low drones, distant metallic hits and sparse cello", "guidance_scale": [3, 4], "temperature": [1.0, 0.9]},
    "exploration": {"words": "open world exploration music with warm strings, harp and a gentle flute melody", "guidance_scale": [3, 3.5], "temperature": [1.0, 1.0]},
    "menu": {"words": "title screen theme with piano, soft pads and a slow string melody", "guidance_scale": [3, 3.5], "temperature": [0.9, 1.0]},
    "puzzle": {"words": "light puzzle music with marimba, pizzicato strings and a soft clarinet", "guidance_scale": [3, 3.5], "temperature": [1.0, 1.0]},
    "space": {"words": "spacious synthesizer music with slow arpeggios, deep pads and a distant bell", "guidance_scale": [3, 3.5], "temperature": [1.0, 1.0]},
    "stealth": {"words": "stealth music with a quiet bass pulse, brushed percussion and muted plucked strings", "guidance_scale": [3, 4], "temperature": [0.9, 1.0]},
    "victory": {"words": "victory fanfare with bright brass, cymbals and full orchestra", "guidance_scale": [3.5, 4], "temperature": [0.9, 0.9]},
    "village": {"words": "village folk music with acoustic guitar, fiddle, flute and hand drum", "guidance_scale": [3, 3.5], "temperature": [1.0, 1.0]}
  },
  "moods": {
    "calm": "calm and peaceful",
    "dark": "dark and brooding",
    "heroic": "heroic and triumphant",
    "joyful": "joyful and bright",
    "melancholic": "melancholic and tender",
    "mysterious": "mysterious and curious",
    "tense": "tense and uneasy",
    "wild": "wild and furious"
  },
  "intensity": [
    {"up_to": 0.25, "words": "very soft and sparse"},
    {"up_to": 0.5, "words": "restrained"},
    {"up_to": 0.75, "words": "energetic"},
    {"up_to": 1.0, "words": "intense, loud and dense"}
  ],
  "tempo": [
    {"name": "very slow", "up_to": 60, "words": "very slow tempo"},
    {"name": "slow", "up_to": 85, "words": "slow tempo"},
    {"name": "medium", "up_to": 115, "words": "medium tempo"},
    {"name": "fast", "up_to": 150, "words": "fast tempo"},
    {"name": "very fast", "up_to": 240, "words": "very fast tempo"}
  ]
}
)json";

}  // namespace continuo::server
