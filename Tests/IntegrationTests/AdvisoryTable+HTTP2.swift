/// Connections of HTTP/2.
extension Advisory {
    /// What HTTP/1 cannot express, and floods of frames.
    static let http2 = [
        Advisory(
            id: "CVE-2023-25725",
            about: "HAProxy: a field with an empty name ends the list of fields",
            tests: ["Names are lower-case tokens"]
        ),
        Advisory(
            id: "CVE-2021-40346",
            about: "HAProxy: the length of a name overflows into its value",
            tests: ["Names are lower-case tokens"]
        ),
        Advisory(
            id: "CVE-2021-39241",
            about: "HAProxy: a method or path is replaced by a repeated pseudo-field",
            tests: ["Pseudo-fields come first, once, and are known"]
        ),
        Advisory(
            id: "CVE-2021-33193",
            about: "Apache: a method with a space becomes a second request line",
            tests: ["The method is a token, and CONNECT opens WebSockets only"]
        ),
        Advisory(
            id: "CVE-2021-39240",
            about: "HAProxy: scheme and path are glued into another authority",
            tests: ["The path is one", "The scheme is the connection's"]
        ),
        Advisory(
            id: "CVE-2023-45539",
            about: "HAProxy: `#` in a path",
            tests: ["The path is one"]
        ),
        Advisory(
            id: "CVE-2021-39242",
            about: "HAProxy: Host and :authority differ",
            tests: ["There is one authority"]
        ),
        Advisory(
            id: "CVE-2021-21295",
            about: "Netty: a length that differs from the frames of content",
            tests: [
                "A body that contradicts its length resets the stream, and the app sees an incomplete request (CVE-2021-21295)"
            ]
        ),
        Advisory(
            id: "CVE-2021-21409",
            about: "Netty: a length beside the end of the stream",
            tests: ["A length is one number, and there is none without a body"]
        ),
        Advisory(
            id: "CVE-2023-40225",
            about: "HAProxy: an empty Content-Length is passed on",
            tests: ["A length is one number, and there is none without a body"]
        ),
        Advisory(
            id: "CVE-2023-44487",
            about: "Every implementation: streams are opened and reset at once",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2025-8671",
            about: "Several implementations: the server is made to reset streams whose requests go on (MadeYouReset)",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2025-55163",
            about: "Netty: the same",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2025-48989",
            about: "Tomcat: the same",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2024-27316",
            about: "Apache: CONTINUATION frames without end",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2024-28182",
            about: "nghttp2: CONTINUATION frames without end",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2023-45288",
            about: "Go: CONTINUATION frames without end",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2024-27919",
            about: "Envoy: CONTINUATION frames fill the memory",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2024-30255",
            about: "Envoy: CONTINUATION frames take the processor",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2024-27983",
            about: "Node.js: a race behind CONTINUATION frames",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9512",
            about: "Several: a flood of PING",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9513",
            about: "Several: a flood of PRIORITY",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9514",
            about: "Several: a flood of requests that are reset",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9515",
            about: "Several: a flood of SETTINGS",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9518",
            about: "Several: a flood of empty frames",
            tests: ["A flood ends the connection, and the client is told to calm down"]
        ),
        Advisory(
            id: "CVE-2019-9511",
            about: "Several: answers are taken byte by byte, from many streams",
            tests: ["A client that takes none of its answers loses the connection"]
        ),
        Advisory(
            id: "CVE-2019-9517",
            about: "Several: the window of HTTP/2 is open, and that of TCP is not",
            tests: ["One that takes none of its frames does, too"]
        ),
        Advisory(
            id: "CVE-2019-9516",
            about: "Several: fields without names and values, each of them an object",
            tests: ["Names are lower-case tokens", "Fields and crumbs count with what they cost"]
        ),
        Advisory(
            id: "CVE-2016-6581",
            about: "hpack: references of one byte to a large field",
            tests: [
                "Fields and crumbs count with what they cost", "Fields far beyond the limit are not worth an answer",
            ]
        ),
        Advisory(
            id: "CVE-2026-49975",
            about: "Apache and nginx: the same, held by a window of 0",
            tests: [
                "Fields and crumbs count with what they cost",
                "A client that takes nothing of an answer loses its stream",
            ]
        ),
        Advisory(
            id: "CVE-2026-47774",
            about: "Envoy: thousands of parts of one cookie",
            tests: ["Fields and crumbs count with what they cost"]
        ),
        Advisory(
            id: "envoy#45483",
            about: "Envoy: the mend of CVE-2026-47774 refuses what browsers send",
            tests: ["The parser and llhttp read one head in what is written, and take all of it"]
        ),
        Advisory(
            id: "CVE-2026-27135",
            about: "nghttp2: a frame ends the process by an assertion",
            tests: ["Changed bytes are read or refused"]
        ),
    ]
}
