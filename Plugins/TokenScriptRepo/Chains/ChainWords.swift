internal import TokenScriptReading

/// The last words of all chains; an immutable snapshot.
final class ChainWords: Sendable {
  /// The words by contract.
  let byOrigin: [Origin: ChainWord]

  /// Makes a snapshot.
  init(_ byOrigin: [Origin: ChainWord] = [:]) { self.byOrigin = byOrigin }
}
