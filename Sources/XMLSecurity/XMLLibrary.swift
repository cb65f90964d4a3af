internal import COpenSSL
internal import CXML
internal import CXMLSec

/// The process-wide state of libxml2 and libxmlsec1, which is set up once.
///
/// After the start neither library opens a file or a connection by itself, nor writes to standard error: libxml2's input
/// callbacks are removed, its entity loader opens only the schemas that ``SchemaSource`` allows, and errors go to the
/// caller.
enum XMLLibrary {
  /// Starts both libraries; the second and later calls cost one atomic load.
  static func start() { precondition(hasStarted, "libxml2 and libxmlsec1 do not fit each other") }

  private static let hasStarted: Bool = {
    xmlInitParser()
    guard xmlSecInit() == 0, xmlSecOpenSSLInit() == 0 else { return false }
    xmlSchemaInitTypes()

    xmlSecIOCleanupCallbacks()
    xmlRegisterDefaultInputCallbacks()
    while xmlPopInputCallbacks() >= 0 {}
    unsafe xmlSetExternalEntityLoader { address, _, context in
      unsafe SchemaSource.open(address, for: context)
    }

    unsafe xmlSecErrorsSetCallback { _, _, _, _, _, _, _ in }
    cxml_silence_generic_errors()
    unsafe xmlSetStructuredErrorFunc(nil) { _, _ in }
    unsafe xmlThrDefSetStructuredErrorFunc(nil) { _, _ in }
    return true
  }()
}
