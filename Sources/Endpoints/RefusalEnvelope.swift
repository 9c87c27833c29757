package import Vocabulary

/// Writes refusals for clients that do not parse problem documents (RFC 9457). It applies to requests that are refused
/// before the endpoint's handler runs: a wrong method, a body that is too large or arrives too slowly.
package typealias RefusalEnvelope = @Sendable (_ reason: Reason, _ requestID: String) -> EndpointResponse
