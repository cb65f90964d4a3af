internal import Foundation

/// A generator that gives the same numbers for the same seed (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Makes a generator.
  ///
  /// - Parameter seed: any number.
  package init(seed: UInt64) { state = seed }

  /// Returns the next number.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// The seeds of random tests, which take them as arguments so that a failure names its seed.
package enum TestSeeds {
  /// Chooses seeds at random, or the one that `AWD_TEST_SEED` holds.
  ///
  /// - Parameters:
  ///   - count: how many random seeds there are.
  ///   - fixed: further seeds, which every run has.
  /// - Returns: the seeds; `AWD_TEST_SEED` alone where it is set.
  package static func random(_ count: Int, and fixed: [UInt64] = []) -> [UInt64] {
    if let text = ProcessInfo.processInfo.environment["AWD_TEST_SEED"] {
      guard let seed = UInt64(text) else {
        preconditionFailure("AWD_TEST_SEED is not a number: \(text)")
      }
      return [seed]
    }
    return (0..<count).map { _ in .random(in: .min ... .max) } + fixed
  }
}
