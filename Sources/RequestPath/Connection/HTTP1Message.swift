import Vocabulary

/// How one request and its answer are framed on their HTTP/1 connection (RFC 9112 6, 9.3). The exchange knows none of
/// this.
package struct HTTP1Message {
    package let minorVersion: Int
    /// Whether another request may follow.
    package private(set) var keepsAlive: Bool
    /// Whether the client sends the body only when it is told to, or after a while.
    package var awaitsContinue: Bool
    private let asksForUpgrade: Bool
    /// How the answer's content is sent.
    package private(set) var framing = OutgoingFraming.asIs

    /// A request that could not be read, after which no other one is read.
    package init() {
        self.minorVersion = 1
        self.keepsAlive = false
        self.awaitsContinue = false
        self.asksForUpgrade = false
    }

    /// - Parameter keepsAlive: Whether the connection may carry another request.
    @inline(__always)
    package init(_ head: RequestHead, keepsAlive: Bool) {
        self.minorVersion = head.minorVersion
        self.keepsAlive = keepsAlive
        self.awaitsContinue = head.expectsContinue
        self.asksForUpgrade = head.isWebSocketUpgrade
    }

    /// Begins the app's answer.
    ///
    /// - Parameter isRequestWhole: Whether all of the request's body has come.
    @inline(__always)
    package mutating func begin(_ answer: BodyFraming, isRequestWhole: Bool, isDraining: Bool) {
        // If the body is incomplete, the bytes that follow could be read as the next request. After a refused upgrade,
        // they may be of the other protocol.
        if !isRequestWhole || self.asksForUpgrade || isDraining { self.keepsAlive = false }
        switch answer {
        case .none, .length:
            self.framing = .asIs
        case .chunked, .untilClose, .byStream:
            if self.minorVersion == 1 {
                self.framing = .chunked
            } else {
                self.framing = .untilClose
                self.keepsAlive = false
            }
        }
    }

    /// Begins one of the gateway's own answers, after which the rest of the request's body is discarded.
    ///
    /// - Parameter closes: Whether no other request may follow.
    package mutating func beginOwn(closes: Bool) {
        // A client that got no "100 Continue" may or may not send the body.
        if closes || self.awaitsContinue { self.keepsAlive = false }
    }

    /// What the answer says about the connection.
    @inline(__always)
    package var connection: ConnectionField {
        guard self.keepsAlive else { return .close }
        return self.minorVersion == 0 ? .keepAlive : .none
    }
}
