import NIOCore

/// Memory that the HTTP/2 connections of a loop use one after another.
final class HTTP2Scratch {
    /// The maximum number of bytes in one write.
    static let writeSize = 65_536

    /// The fields of the answer that is being sent.
    var fields = HTTP2AnswerFields()
    private var output = ByteBuffer()

    /// Returns the loop's memory for HTTP/2 connections. The first call creates it.
    static func of(_ loop: PathLoop) -> HTTP2Scratch {
        if let scratch = loop.protocolScratch as? HTTP2Scratch { return scratch }
        let scratch = HTTP2Scratch()
        loop.protocolScratch = scratch
        return scratch
    }

    /// Borrows the buffer for frames.
    func takeOutput() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &self.output)
        return taken
    }

    /// Returns the buffer from `takeOutput`.
    func giveBack(_ output: ByteBuffer) {
        self.output = output
    }
}
