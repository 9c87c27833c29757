import Vocabulary

/// The framing of one request and its answer on an HTTP/1 connection (RFC 9112 6, 9.3).
package struct HTTP1Message {
    package let minorVersion: Int
    /// True if another request may follow.
    package private(set) var keepsAlive: Bool
    /// True while the client may be waiting for "100 Continue" before it sends the body.
    package var awaitsContinue: Bool
    /// True if the client accepts trailers in the answer.
    let acceptsTrailers: Bool
    /// True if the request's trailers are dropped, because they may contain fields that `Connection` names.
    let dropsTrailers: Bool
    private let asksForUpgrade: Bool
    /// True if the client announced its last request.
    private let isLast: Bool
    /// True if the request is complete and the answer fits into the first TCP window.
    private var isShort = false
    /// The framing of the answer's content.
    package private(set) var framing = OutgoingFraming.asIs

    /// Creates the message for a request that could not be read. No other request may follow.
    package init() {
        self.minorVersion = 1
        self.keepsAlive = false
        self.awaitsContinue = false
        self.acceptsTrailers = false
        self.dropsTrailers = true
        self.asksForUpgrade = false
        self.isLast = false
    }

    /// - Parameter keepsAlive: True if the connection may carry another request.
    @inline(__always)
    package init(_ head: RequestHead, keepsAlive: Bool) {
        self.minorVersion = head.minorVersion
        self.keepsAlive = keepsAlive
        self.awaitsContinue = head.expectsContinue
        self.acceptsTrailers = head.acceptsTrailers
        self.dropsTrailers = head.connectionListsFields
        self.asksForUpgrade = head.isWebSocketUpgrade
        self.isLast = !head.keepsAlive
    }

    /// Begins the app's answer.
    ///
    /// - Parameter isRequestWhole: True if the whole request body has arrived.
    @inline(__always)
    package mutating func begin(_ answer: BodyFraming, isRequestWhole: Bool, isDraining: Bool) {
        self.isShort = isRequestWhole
        // The rest of an incomplete body could be read as the next request. After a refused upgrade, the next bytes may
        // belong to another protocol.
        if !isRequestWhole || self.asksForUpgrade || isDraining { self.keepsAlive = false }
        switch answer {
        case .none:
            self.framing = .asIs
        case .length(let count):
            self.framing = .asIs
            if count > Self.shortLength { self.isShort = false }
        case .chunked, .untilClose, .byStream:
            self.isShort = false
            if self.minorVersion == 1 {
                self.framing = .chunked
            } else {
                self.framing = .untilClose
                self.keepsAlive = false
            }
        }
    }

    /// Begins an answer by the gateway.
    ///
    /// - Parameter closes: True if no other request may follow.
    package mutating func beginOwn(closes: Bool) {
        // A client without "100 Continue" may or may not send the body. After a refused upgrade, the next bytes may
        // belong to another protocol.
        if closes || self.awaitsContinue || self.asksForUpgrade { self.keepsAlive = false }
    }

    /// True if the connection may close once the system has accepted the answer. After its last request, the client
    /// sends no bytes that could destroy the answer (RFC 9112 9.6). After a long answer, the connection lingers
    /// instead, to notice a client that does not read.
    package var mayCloseAtOnce: Bool { self.isLast && self.isShort && !self.asksForUpgrade }

    /// The maximum length in bytes of an answer that fits, with its head, into the first TCP window (RFC 6928).
    private static let shortLength = 8192

    /// The `Connection` field of the answer.
    @inline(__always)
    package var connection: ConnectionField {
        guard self.keepsAlive else { return .close }
        return self.minorVersion == 0 ? .keepAlive : .none
    }
}
