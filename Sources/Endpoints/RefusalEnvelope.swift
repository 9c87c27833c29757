package import Vocabulary

/// Writes the refusals that endpoints have in common, e.g. for a wrong method or an operator's invalid token, for
/// clients that cannot parse problem documents (RFC 9457).
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
