import NIOCore

/// Memory that the connections of a loop use one after the other.
struct HTTP2Scratch {
    /// How much is written at once.
    static let writeSize = 65_536

    /// The fields of the answer that begins.
    var fields = HTTP2AnswerFields()
    private var output = ByteBuffer()

    /// The buffer in which frames are collected.
    mutating func takeOutput() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &self.output)
        return taken
    }

    mutating func giveBack(_ output: ByteBuffer) {
        self.output = output
    }
}
