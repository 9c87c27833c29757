package androidx.activity.result

class ActivityResultLauncher<Input>
