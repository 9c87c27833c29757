package android.net

import java.net.URI

class Uri private constructor(private val text: String) {
    private val parsed = URI(text)
    val scheme: String? get() = parsed.scheme
    val host: String? get() = parsed.host
    val path: String? get() = parsed.path

    override fun toString() = text

    companion object {
        fun parse(text: String) = Uri(text)
    }
}
