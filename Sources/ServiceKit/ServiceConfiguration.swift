package import Configuration

/// The values of a service's section.
package protocol ServiceConfiguration: Sendable {
  /// Reads every key of the section, and records what is wrong with it there.
  ///
  /// It opens and writes nothing, so that all problems of a configuration can be reported at once, by `awd check` too.
  /// A key that isn't read here is unknown. The program reads `hosts` itself.
  ///
  /// - Parameter section: the service's own section.
  init(_ section: ConfigurationSection)
}

extension Service {
  /// Reads the service's section, and records what is wrong with it there.
  ///
  /// - Parameter section: the service's own section.
  package static func configuration(_ section: ConfigurationSection) -> any ServiceConfiguration {
    Configuration(section)
  }
}
