package import Vocabulary

/// Writes the refusals of an endpoint before its handler runs, e.g. for a wrong method or a body that is too large. For
/// clients that cannot parse problem documents (RFC 9457).
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
