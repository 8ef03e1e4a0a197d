"""Qt's own words, of its file dialog and of the menus of its fields, in the language of the window."""

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QTranslator

_NAME = "qt_words"


def speak(language: str) -> None:
    """Have Qt speak a language; English is what it speaks without a translation.

    The catalogues lie beside Qt's libraries, in a frozen program too.
    """
    app = QCoreApplication.instance()
    if app is None:
        return
    now = app.findChild(QTranslator, _NAME)
    if now is not None and now.language() == language:
        return
    if now is not None:
        app.removeTranslator(now)
        now.setParent(None)
        now.deleteLater()
    translator = QTranslator(app)
    translator.setObjectName(_NAME)
    place = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if language != "en" and translator.load(f"qtbase_{language}", place):
        app.installTranslator(translator)
    else:
        translator.deleteLater()
