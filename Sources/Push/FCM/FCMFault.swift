internal import FoundationEssentials
internal import Formats

/// The reason of a refusal, as the body of a response of FCM's gives it.
package struct FCMFault: Sendable, Hashable {
  /// FCM's own code: 1 to 64 letters, digits and underscores, fit for a log. Nil if the refusal isn't FCM's.
  package let code: String?
  /// True if the refusal says that the device's token is no token.
  package let isOfToken: Bool

  private struct Body: Decodable {
    struct Fault: Decodable {
      let message: String?
      let details: [Detail]?
    }

    /// An entry of the details, of which there are several kinds.
    struct Detail: Decodable {
      struct Violation: Decodable { let field: String? }

      enum CodingKeys: String, CodingKey {
        case type = "@type"
        case errorCode, fieldViolations
      }

      let type: String?
      let errorCode: String?
      let fieldViolations: [Violation]?
    }

    let error: Fault
  }

  /// Reads a body.
  ///
  /// - Parameter body: any bytes.
  package init(json body: [UInt8]) {
    // jansson knows what is JSON and how deep; the decoder only picks the members.
    let fault =
      JSONObjectReader.members(of: body) == nil
      ? nil : try? JSONDecoder().decode(Body.self, from: Data(body)).error
    let details = fault?.details ?? []
    code = details.first { $0.type?.hasSuffix("FcmError") == true }?.errorCode?.asWord
    let words = fault?.message?.lowercased() ?? ""
    isOfToken =
      details.contains { $0.fieldViolations?.contains { $0.field == "message.token" } == true }
      || words.contains("registration token") && words.contains("valid")
  }
}
