import Vocabulary

/// How one request and its answer are framed on their HTTP/1 connection (RFC 9112 6, 9.3). The exchange knows none of
/// this.
package struct HTTP1Message {
    package let minorVersion: Int
    /// Whether another request may follow.
    package private(set) var keepsAlive: Bool
    /// Whether the client sends the body only when it is told to, or after a while.
    package var awaitsContinue: Bool
    /// Whether the client takes trailers of the answer.
    let acceptsTrailers: Bool
    /// Whether the request's trailers are dropped, because they may have fields that `Connection` names.
    let dropsTrailers: Bool
    private let asksForUpgrade: Bool
    /// Whether the client said that this request is its last one.
    private let isLast: Bool
    /// Whether the request has come, and the answer needs no more than the system sends without an acknowledgement.
    private var isShort = false
    /// How the answer's content is sent.
    package private(set) var framing = OutgoingFraming.asIs

    /// A request that could not be read, after which no other one is read.
    package init() {
        self.minorVersion = 1
        self.keepsAlive = false
        self.awaitsContinue = false
        self.acceptsTrailers = false
        self.dropsTrailers = true
        self.asksForUpgrade = false
        self.isLast = false
    }

    /// - Parameter keepsAlive: Whether the connection may carry another request.
    @inline(__always)
    package init(_ head: RequestHead, keepsAlive: Bool) {
        self.minorVersion = head.minorVersion
        self.keepsAlive = keepsAlive
        self.awaitsContinue = head.expectsContinue
        self.acceptsTrailers = head.acceptsTrailers
        self.dropsTrailers = head.nominates
        self.asksForUpgrade = head.isWebSocketUpgrade
        self.isLast = !head.keepsAlive
    }

    /// Begins the app's answer.
    ///
    /// - Parameter isRequestWhole: Whether all of the request's body has come.
    @inline(__always)
    package mutating func begin(_ answer: BodyFraming, isRequestWhole: Bool, isDraining: Bool) {
        self.isShort = isRequestWhole
        // If the body is incomplete, the bytes that follow could be read as the next request. After a refused upgrade,
        // they may be of the other protocol.
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

    /// Begins one of the gateway's own answers.
    ///
    /// - Parameter closes: Whether no other request may follow.
    package mutating func beginOwn(closes: Bool) {
        // A client that got no "100 Continue" may or may not send the body, and after a refused upgrade bytes of the other
        // protocol may follow.
        if closes || self.awaitsContinue || self.asksForUpgrade { self.keepsAlive = false }
    }

    /// Whether the connection may close as soon as the system has taken the answer. A client that has said that it closes
    /// sends nothing more (RFC 9112 9.6), so it gets the answer in spite of that. Others get the end of the stream first;
    /// long answers too, so that a client that takes nothing is noticed.
    package var mayCloseAtOnce: Bool { self.isLast && self.isShort && !self.asksForUpgrade }

    /// In bytes: with its head, it fits into the first window of a connection (RFC 6928).
    private static let shortLength = 8192

    /// What the answer says about the connection.
    @inline(__always)
    package var connection: ConnectionField {
        guard self.keepsAlive else { return .close }
        return self.minorVersion == 0 ? .keepAlive : .none
    }
}
