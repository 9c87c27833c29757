/// The part of the request that carried a session-transfer token.
package enum HandoffTransport: String, Sendable, CaseIterable {
    case cookie, query
}
