/// The items that a corpus wants refused and that the gateway accepts, each with the reason.
enum Judgements {
    enum Verdict: Equatable, Sendable {
        /// The (first) request is accepted; what follows it is judged separately.
        case taken
        /// The request is valid so far and incomplete: the deadline for heads or bodies ends it without a 2xx.
        case unfinished
    }

    static let table: [String: (verdict: Verdict, sentence: String)] = [
        "connection.md: CRLF between requests, implicit `keep-alive`": (
            .taken,
            """
            The first request is whole, and the empty line behind it is one that "a server that is expecting to receive and parse a \
            request-line SHOULD ignore" (RFC 9112 2.2); the second, which is documentation, is refused.
            """
        ),
        "connection.md: Upgrade GET request": (
            .taken,
            """
            "A server MAY ignore a received Upgrade header field if it wishes to continue using the current protocol on that \
            connection" (RFC 9110 7.8); no byte behind it passes before the app has said 101.
            """
        ),
        "connection.md: Upgrade POST request": (
            .taken,
            "\"A server MAY ignore a received Upgrade header field\" (RFC 9110 7.8): no upgrade but WebSocket's passes."
        ),
        "invalid.md: HTTP protocol and ANNOUNCE method": (
            .taken,
            "\"method = token\" (RFC 9110 9.1): that ANNOUNCE is RTSP's is a rule of llhttp; routes may limit their methods."
        ),
        "invalid/001.http": (
            .unfinished,
            """
            The bytes end within a field line, and could go on as "baz: x": "a server MAY respond with 408 if it times out" is the \
            header deadline's part (RFC 9110 15.5.9).
            """
        ),
        "invalid/rfc9112_chunked_missing_final_crlf_01.http": (
            .unfinished,
            """
            "A client that [...] closes the connection before the message is complete" is how such a body ends (RFC 9112 8); until \
            then it is not over, and the app never sees its end.
            """
        ),
    ]
}
