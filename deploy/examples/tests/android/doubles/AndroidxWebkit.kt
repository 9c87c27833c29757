package androidx.webkit

import android.net.Uri
import android.webkit.WebView
import say

class WebMessageCompat(val data: String?)

class JavaScriptReplyProxy

object WebViewFeature {
    const val WEB_MESSAGE_LISTENER = "WEB_MESSAGE_LISTENER"
    var hasListener = true

    fun isFeatureSupported(name: String) = name == WEB_MESSAGE_LISTENER && hasListener
}

object WebViewCompat {
    fun interface WebMessageListener {
        fun onPostMessage(
            view: WebView, message: WebMessageCompat, origin: Uri, isMainFrame: Boolean, reply: JavaScriptReplyProxy,
        )
    }

    lateinit var listener: WebMessageListener
    lateinit var origins: Set<String>

    fun addWebMessageListener(view: WebView, name: String, origins: Set<String>, listener: WebMessageListener) {
        if (!WebViewFeature.hasListener) throw UnsupportedOperationException()
        this.listener = listener
        this.origins = origins
        val list = origins.joinToString { "'$it'" }
        val post = "data => bridge(JSON.stringify({data, url: location.href, mainFrame: window === top}))"
        say("script" to "if ([$list].includes(location.origin)) window.$name = {postMessage: $post}")
    }
}
