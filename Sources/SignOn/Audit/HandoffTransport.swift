/// Where in the request a session-transfer token was.
package enum HandoffTransport: String, Sendable, CaseIterable {
    case cookie, query
}
